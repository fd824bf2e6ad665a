from answers import right, wrong

right(lambda pieces: "".join(pieces).replace("</w>", " ").strip())


@wrong("rstrip", "removesuffix")
def strips_characters(pieces):
    text = ""
    for piece in pieces:
        text += piece.rstrip("</w>")
        if piece.endswith("</w>"):
            text += " "
    return text.rstrip()


wrong("no-blanks")(lambda pieces: "".join(pieces).replace("</w>", ""))
