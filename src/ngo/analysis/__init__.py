from ngo import entries

entries.load(__name__)
