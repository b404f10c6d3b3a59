from ngo.common import versions


def test_another_build_of_a_version_is_the_same_version():
    here = versions.installed()
    assert versions.others({"versions": {"torch": f"{here['torch']}+cpu", "python": "2.7"}}) == ""
    assert versions.others({"versions": {"torch": "1.0+cpu", "numpy": "1.1"}}) == (
        "numpy 1.1, torch 1.0"
    )
    assert versions.others({}) == ""
    assert versions.recorded({"versions": {"torch": "1.0+cpu", "ngo": "3"}}) == {"torch": "1.0"}
