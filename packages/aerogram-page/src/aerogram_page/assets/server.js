/** Server: questions to it, and whether it is there. A question that finds nobody waits until somebody is back. */

import { parse } from "./json.js";
import { passing } from "./storage.js";

const API = "page/api/";
const FIRST_WAIT = 500;
const LONGEST_WAIT = 4000;
const PATIENCE = 8000;
const KEY = "aerogram.key";
const OWNER = "aerogram.owner";
const SENDABLE = /^[!-~]{1,1000}$/; // anything else is no header; asking with it would look as if nobody was there

const watchers = new Set();
let absence = null;
let late = 0;

/** What the server answered instead of an answer: its problem, in whatever shape it came. */
export class Refusal extends Error {
  constructor(status, body) {
    const problem = problemOf(body);
    super(problem.message || `HTTP ${status}`);
    Object.assign(this, { status, body, ...problem });
  }
}

/** Ask the page's interface; `given` is sent as JSON. */
export async function ask(path, given = undefined, { signal } = {}) {
  return parse((await send(API + path, given, signal)).text);
}

/** Ask a public route of the server: the answer with its status and headers, refusals included. */
export async function call(path, given = undefined, { signal } = {}) {
  const { response, text } = await reach(path, options(given, signal), signal);
  return { status: response.status, headers: Object.fromEntries(response.headers), text, body: parsed(text) };
}

/** A stream of the page's interface, open until the signal says otherwise. */
export const stream = async (path, signal) => (await send(API + path, undefined, signal, true)).response;

/** Call `listener(state)` whenever the server goes "away" or comes "back", is "late" with an answer or "here" again. */
export function watch(listener) {
  watchers.add(listener);
  return () => watchers.delete(listener);
}

/** The API key that goes with every question, for servers that want one. */
export const useKey = (secret) => passing.set(KEY, secret);

/** Whether a key goes with every question. */
export const hasKey = () => passing.get(KEY) !== null;

/** The owner opens the page with a token in the address: it is kept here, and out of sight. Whether there was one. */
export function useOwnerToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get("owner");
  if (!token) return false;
  passing.set(OWNER, token);
  history.replaceState(null, "", location.pathname);
  return true;
}

async function send(path, given, signal, isStream = false) {
  const { response, text } = await reach(path, options(given, signal), signal, isStream);
  if (!response.ok) throw new Refusal(response.status, parsed(text));
  return { response, text };
}

function options(given, signal) {
  const [key, owner] = [KEY, OWNER].map((name) => passing.get(name)).map((said) => SENDABLE.test(said) && said);
  const headers = {
    Accept: "application/json, application/problem+json, text/event-stream",
    ...(key && { "X-API-Key": key }),
    ...(owner && { "X-Owner-Token": owner }),
    ...(given !== undefined && { "Content-Type": "application/json" }),
  };
  if (given === undefined) return { headers, signal };
  return { method: "POST", headers, body: typeof given === "string" ? given : JSON.stringify(given), signal };
}

/** The response with its text; while there is no server, or where it breaks off, it is waited for and asked again. */
async function reach(path, asked, signal, isStream = false) {
  for (;;) {
    try {
      const response = await patiently(fetch(path, { cache: "no-store", ...asked }));
      return { response, text: isStream && response.ok ? null : await response.text() };
    } catch (error) {
      if (signal?.aborted || error.name === "AbortError") throw error;
      await unlessAborted(returned(), signal);
    }
  }
}

/** What is waited for; when it takes long, that is said until it is there. */
async function patiently(answer) {
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    late += 1;
    if (!absence) tell("late");
  }, PATIENCE);
  try {
    return await answer;
  } finally {
    clearTimeout(timer);
    if (isLate) late -= 1;
    if (isLate && !late && !absence) tell("here");
  }
}

/** Resolves when the server is back; one watch serves everybody who waits. */
function returned() {
  absence ??= waitForIt().finally(() => {
    absence = null;
    tell("back");
  });
  return absence;
}

async function waitForIt() {
  tell("away");
  for (let wait = FIRST_WAIT; ; wait = Math.min(wait * 1.5, LONGEST_WAIT)) {
    await new Promise((done) => setTimeout(done, wait));
    const answer = await fetch(`${API}context`, { cache: "no-store", headers: options().headers }).catch(() => null);
    if (answer) return;
  }
}

function unlessAborted(promise, signal) {
  if (!signal) return promise;
  return new Promise((done, fail) => {
    signal.addEventListener("abort", () => fail(new DOMException("no longer wanted", "AbortError")), { once: true });
    promise.then(done, fail);
  });
}

function tell(state) {
  for (const listener of watchers) listener(state);
}

function parsed(text) {
  try {
    return parse(text);
  } catch {
    return text;
  }
}

/** Code, message and advice of a failure, in any of the shapes a server says it in. */
function problemOf(body) {
  if (body === null || typeof body !== "object") return { message: String(body ?? "").slice(0, 300) };
  const error = body.error ?? body.problem ?? body;
  if (typeof error === "string") return { message: error, code: body.data?.error_code ?? body.code };
  return {
    code: error.code,
    message: error.user_message ?? error.message ?? error.detail ?? error.title,
    remediation: error.remediation,
    details: error.details,
  };
}
