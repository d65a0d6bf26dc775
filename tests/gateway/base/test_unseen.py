"""Characters that nobody sees, against the properties of the package `regex`."""

import regex

from gateway.base.unseen import CONTROLS, SEQUENCES, UNSEEN

EVERY = [chr(each) for each in range(0x110000)]


def test_all_ignorable_code_points_and_no_letters_are_unseen():
    unseen = {each for each in EVERY if UNSEEN.match(each)}
    ignorable = set(regex.findall(r"\p{Default_Ignorable_Code_Point}", "".join(EVERY)))
    others = set("\u2800\u2d7f\ufff9\ufffa\ufffb\ufffc\U00016fe4\U0001d159")
    controls = {each for each in EVERY if CONTROLS.match(each)} - set("\x0b\x0c\r\x85")
    assert unseen == ignorable | others | controls
    assert unseen == {each for each in EVERY if SEQUENCES.fullmatch(each)}
