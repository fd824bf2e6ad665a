// Fetch a large file once: with progress, stoppable, kept for the next page.

const STORE = "tformer";

// An address -> ArrayBuffer. onProgress({ loaded, total }) in bytes; total is null if the
// server does not say. What has a query (…?v=3a7bd3) is taken to be of a version that
// never changes: it is kept in the browser's Cache Storage, in place of older versions;
// where there is none, in its usual cache, however old. The rest is left to that cache.
export async function download(url, { onProgress = () => {}, signal = null } = {}) {
  const isVersion = Boolean(new URL(url).search);
  const store = isVersion ? await openStore() : null;
  const kept = await store?.match(url);
  const response =
    kept ?? (await request(url, signal, isVersion ? "force-cache" : "default"));
  const buffer = await read(response, onProgress);
  if (store && !kept) await keep(store, url, buffer);
  return buffer;
}

// Null where there is none: plain http, a private window, storage forbidden.
async function openStore() {
  try {
    return await caches.open(STORE);
  } catch {
    return null;
  }
}

async function request(url, signal, cache) {
  let response;
  try {
    response = await fetch(url, { signal, cache });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error(`${url} cannot be loaded: are you offline? Try again`);
  }
  if (!response.ok)
    throw new Error(`${url} cannot be loaded: the server says ${response.status}`);
  return response;
}

async function read(response, onProgress) {
  // A compressed body is longer than its Content-Length.
  const length = Number(response.headers.get("Content-Length"));
  const total = response.headers.get("Content-Encoding") ? null : length || null;
  const chunks = [];
  let loaded = 0;
  const reader = response.body.getReader();
  for (
    let { done, value } = await reader.read();
    !done;
    { done, value } = await reader.read()
  ) {
    chunks.push(value);
    loaded += value.length;
    onProgress({ loaded, total });
  }
  return new Blob(chunks).arrayBuffer();
}

async function keep(store, url, buffer) {
  const { pathname } = new URL(url);
  try {
    for (const each of await store.keys()) {
      if (new URL(each.url).pathname === pathname) await store.delete(each);
    }
    await store.put(
      url,
      new Response(buffer, { headers: { "Content-Length": buffer.byteLength } }),
    );
  } catch {
    // A full disk costs the next page a download, nothing else.
  }
}
