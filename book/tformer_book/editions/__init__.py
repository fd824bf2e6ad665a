"""The book for paper and for e-readers, made from the built site.

Each page is opened in Chromium, every figure drawn, and the page made fit to be read
without a screen (`prepare.js`): what is covered is shown, solutions move to the end of
their chapter, buttons go. Chromium then prints it (`pdf`), or its article becomes a
document of an EPUB, figures as pictures (`epub`).

    python -m tformer_book.editions pdf epub
"""
