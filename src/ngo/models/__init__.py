from ngo import entries

entries.load()
