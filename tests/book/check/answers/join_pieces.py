from answers import right, wrong


@right
def plain(pieces):
    return "".join(pieces).replace("</w>", " ").strip()


@wrong("rstrip", "removesuffix")
def strips_characters(pieces):
    text = ""
    for piece in pieces:
        text += piece.rstrip("</w>")
        if piece.endswith("</w>"):
            text += " "
    return text.rstrip()


@wrong("no-blanks")
def no_blanks(pieces):
    return "".join(pieces).replace("</w>", "")
