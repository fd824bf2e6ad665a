// Asks for a prediction before it uncovers what came out, and keeps what was said.
// Answers stay in this browser, under the page's address and the question's words.

const PREFIX = "tf-prediction:";

/** The browser's memory, or none where it is forbidden. */
const memory = {
  read(key) {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  },
  write(key, value) {
    try {
      localStorage.setItem(key, value);
    } catch {
      // A private window: the answer is shown, and forgotten.
    }
  },
};

/** @param {HTMLFormElement} form @param {HTMLDetailsElement} cover */
function prepare(form, cover) {
  const asked = form.closest("blockquote").textContent.trim();
  const key = `${PREFIX}${location.pathname}:${asked.slice(0, 80)}`;
  const said = document.createElement("p");
  said.className = "tf-said";
  cover.firstElementChild.after(said);

  function uncover(answer) {
    cover.open = true;
    form.hidden = true;
    said.textContent = answer ? `You predicted: ${answer}` : "";
    said.hidden = !answer;
  }
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const answer = String(new FormData(form).get("answer")).trim();
    if (!answer) return;
    memory.write(key, answer);
    uncover(answer);
  });
  form.querySelector(".tf-skip").addEventListener("click", () => uncover(""));
  cover.addEventListener("toggle", () => {
    if (cover.open && !form.hidden && !opened.includes(cover)) uncover("");
  });
  const earlier = memory.read(key);
  if (earlier) uncover(earlier);
  else said.hidden = true;
}

const opened = []; // to be printed
const covers = [...document.querySelectorAll("details")].filter((each) =>
  each.classList.contains("tf-cover"),
);
const forms = [...document.querySelectorAll("form")].filter((each) =>
  each.classList.contains("tf-guess"),
);
forms.forEach((form, i) => prepare(form, covers[i])); // each form has its cover

// Printed, everything is there; afterwards it is as it was.
addEventListener("beforeprint", () => {
  for (const cover of covers.filter((each) => !each.open)) {
    cover.open = true;
    opened.push(cover);
  }
});
addEventListener("afterprint", () => {
  for (const cover of opened.splice(0)) cover.open = false;
});
// A link, or the browser's own search, may lead to something that is covered.
function uncoverTarget() {
  const cover = document.querySelector(":target")?.closest("details.tf-cover");
  if (cover instanceof HTMLDetailsElement) cover.open = true;
}
addEventListener("hashchange", uncoverTarget);
uncoverTarget();
