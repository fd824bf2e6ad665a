// A section that plays with a figure from the top of the page can have it: a button
// brings the figure there, with all that the reader has set, and puts it back. Where
// the figure stood, its room is kept, so nothing else on the page moves.

/** @param {HTMLAnchorElement} link to a figure of this page, further up */
function offer(link) {
  const figure = document.querySelector(link.hash);
  const name = figure?.querySelector(".tf-caption > a")?.textContent;
  if (!name) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "tf-dock";
  const room = document.createElement("p");
  room.className = "tf-dock-room";
  const back = document.createElement("a");
  back.href = link.hash;
  back.textContent = `${name} is further down, where you play with it.`;
  room.append(back);
  const say = () => {
    button.textContent = room.isConnected ? `Put ${name} back` : `Bring ${name} here`;
  };
  button.addEventListener("click", () => {
    if (room.isConnected) room.replaceWith(figure);
    else {
      room.style.minHeight = `${figure.getBoundingClientRect().height}px`;
      figure.replaceWith(room);
      button.after(figure);
    }
    say();
  });
  say();
  (link.closest("p") ?? link).after(button);
}

for (const section of document.querySelectorAll('.bd-article section[id^="play"]')) {
  const link = section.querySelector('p a[href^="#figure-"]');
  if (link instanceof HTMLAnchorElement) offer(link);
}
