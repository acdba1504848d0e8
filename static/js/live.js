/**
 * Keeps one run's numbers fresh: a socket, polling where sockets fail, and an honest state.
 * Knows nothing of the page; it hands on snapshots and states.
 *
 * @typedef {{seq: number, server_time: string, is_finished: boolean, series: object}} Snapshot
 * @typedef {"connecting"|"live"|"delayed"|"reconnecting"|"polling"|"offline"|"ended"|"refused"} State
 */
import { backoff } from "./backoff.js";

const DELAYED_AFTER_MS = 15_000;
const CUT_AFTER_MS = 30_000; // beats come every 10 s: what is connected and silent is not
const OFFLINE_AFTER_MS = 60_000;
const POLL_MS = 5_000;
const POLL_AGAIN_MS = 2_000; // while nobody answers: to be back soon after the server is
const FAILED_SOCKETS_BEFORE_POLLING = 3;
const SOCKET_AGAIN_MS = 10_000; // at most, while polling works: numbers are 5 s old until then
const STABLE_AFTER_MS = 30_000;
const HIDDEN_FOR_MS = 5 * 60_000;
const ENDED_AGAIN_MS = 15_000; // somebody may retry what failed in a run that has ended
const OPEN_TIMEOUT_MS = 8_000;
const TOO_MANY = 4429; // pages of this person; the reason says how many
const GONE = new Set([0, 401, 403, 404]); // 0: sent on, to sign in
const REFUSALS = { 4401: "You are signed out.", 4403: "You may not see this run.", 4404: "This run is gone." };

export class LiveRun {
  /**
   * @param {{socket: string, poll: string}} addresses
   * @param {{snapshot: (frame: Snapshot, isWhole: boolean) => void, state: (state: State, details: object) => void, end: () => void}} tell
   */
  constructor(addresses, tell) {
    this.addresses = addresses;
    this.tell = tell;
    this.seq = -1;
    this.failures = 0;
    this.heardAt = performance.now();
    this.clockOffset = 0; // server minus browser, in ms: the browser's clock is not trusted
    this.dataTime = null;
    this.etag = "";
    this.isOver = false;
    this.timers = {};
    this.retryAt = this.pollAt = 0;
    this.crowd = ""; // why there is no socket, if this person has too many pages
  }

  /** @param {boolean} isFinished as the page was loaded */
  start(isFinished) {
    addEventListener("online", () => this.retryNow());
    addEventListener("offline", () => this.report());
    addEventListener("pagehide", () => this.socket?.close());
    document.addEventListener("visibilitychange", () => this.onVisibility());
    if (isFinished) this.watchTheEnd();
    else this.goOn();
  }

  goOn() {
    clearInterval(this.timers.ended);
    this.isOver = false;
    this.failures = 0;
    this.heardAt = performance.now();
    this.timers.watch = setInterval(() => this.report(), 1000);
    this.connect();
  }

  // --- After the end: is it still the end?

  watchTheEnd() {
    this.isOver = true;
    this.timers.ended = setInterval(() => this.lookAgain(), ENDED_AGAIN_MS);
  }

  async lookAgain() {
    if (document.hidden) return;
    try {
      const { answer, snapshot } = await this.fetchSnapshot();
      if (GONE.has(answer.status)) return clearInterval(this.timers.ended);
      if (!snapshot) return; // the same as before, or the server is in trouble
      if (!snapshot.is_finished && this.isOver) this.goOn();
    } catch {
      // The server is away; what is shown was final when it was read.
    }
  }

  // --- The socket

  connect() {
    if (this.isOver || this.socket) return;
    clearTimeout(this.timers.retry);
    this.retryAt = 0;
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    const socket = new WebSocket(`${scheme}://${location.host}${this.addresses.socket}`);
    this.socket = socket;
    this.timers.open = setTimeout(() => socket.close(), OPEN_TIMEOUT_MS);
    socket.addEventListener("message", (event) => this.onFrame(JSON.parse(event.data)));
    socket.addEventListener("close", (event) => this.onClose(socket, event));
    this.report();
  }

  onFrame(frame) {
    clearTimeout(this.timers.open);
    this.hear(frame.server_time);
    if (frame.type === "hello") this.onHello();
    if (frame.type === "snapshot") this.apply(frame, true);
    if (frame.type === "tick") this.apply(frame, false);
    if (frame.type === "end") this.finish();
    this.report();
  }

  onHello() {
    this.isConnected = true;
    this.crowd = "";
    this.stopPolling();
    // Only a connection that lasts earns a fresh start; one that flaps keeps waiting longer.
    this.timers.stable = setTimeout(() => (this.failures = 0), STABLE_AFTER_MS);
  }

  onClose(socket, { code, reason }) {
    if (this.socket !== socket) return;
    clearTimeout(this.timers.open);
    clearTimeout(this.timers.stable);
    this.socket = null;
    this.isConnected = false;
    if (this.isOver || this.isResting) return;
    if (REFUSALS[code]) return this.refuse(code);
    this.crowd = code === TOO_MANY ? reason : "";
    if (this.crowd) return this.waitForRoom();
    this.failures += 1;
    if (this.failures >= FAILED_SOCKETS_BEFORE_POLLING) this.startPolling();
    this.retryIn(backoff(this.failures, this.isPolling && !this.pollFailed ? SOCKET_AGAIN_MS : undefined));
  }

  /** The server is well: numbers come by polling until another page of this person is closed. */
  waitForRoom() {
    this.failures = 0;
    this.startPolling();
    this.retryIn(SOCKET_AGAIN_MS);
  }

  retryIn(milliseconds) {
    clearTimeout(this.timers.retry);
    this.retryAt = performance.now() + milliseconds;
    this.timers.retry = setTimeout(() => this.connect(), milliseconds);
    this.report();
  }

  retryNow() {
    if (this.isPolling) this.poll();
    if (!this.socket) this.connect();
  }

  // --- Polling: the next question only after the last answer

  startPolling() {
    if (this.isPolling || this.isOver) return;
    this.isPolling = true;
    this.poll();
  }

  stopPolling() {
    this.isPolling = false;
    clearTimeout(this.timers.poll);
  }

  async poll() {
    clearTimeout(this.timers.poll);
    if (!this.isPolling || this.isAsking) return;
    this.isAsking = true;
    const hadFailed = this.pollFailed;
    this.pollFailed = !(await this.ask());
    this.isAsking = false;
    if (!this.isPolling || this.isOver) return;
    if (this.pollFailed) this.failures += 1; // the page counts the tries aloud
    // The server answers again: a socket will probably work too.
    if (hadFailed && !this.pollFailed) this.retryIn(backoff(1));
    const pause = this.pollFailed ? POLL_AGAIN_MS : POLL_MS;
    this.pollAt = performance.now() + pause;
    this.timers.poll = setTimeout(() => this.poll(), pause);
    this.report();
  }

  /** @returns {Promise<boolean>} whether the server answered */
  async ask() {
    try {
      const { answer, snapshot } = await this.fetchSnapshot();
      if (answer.type === "opaqueredirect" || answer.status === 401) return this.refuse(4401);
      if (answer.status === 404) return this.refuse(4404);
      if (answer.status === 304) return this.hear(new Date(Date.now() + this.clockOffset).toISOString());
      if (!snapshot) return false;
      this.hear(snapshot.server_time);
      this.apply(snapshot, true);
      if (snapshot.is_finished) this.finish();
      return true;
    } catch {
      return false;
    }
  }

  /** @returns {Promise<{answer: Response, snapshot: Snapshot|null}>} null: nothing new, or none for us */
  async fetchSnapshot() {
    const headers = this.etag ? { "If-None-Match": this.etag } : {};
    const answer = await fetch(this.addresses.poll, { headers, redirect: "manual", signal: AbortSignal.timeout(10_000) });
    if (!answer.ok) return { answer, snapshot: null };
    const snapshot = await answer.json();
    this.etag = answer.headers.get("ETag") ?? "";
    return { answer, snapshot };
  }

  // --- What was heard

  hear(serverTime) {
    this.heardAt = performance.now();
    this.dataTime = new Date(serverTime);
    this.clockOffset = this.dataTime.getTime() - Date.now();
    return true;
  }

  apply(frame, isWhole) {
    if (frame.seq < this.seq || (frame.seq === this.seq && !isWhole)) return this.acknowledge(frame.seq);
    this.seq = frame.seq;
    this.tell.snapshot(frame, isWhole);
    this.acknowledge(frame.seq);
  }

  acknowledge(seq) {
    this.say({ type: "ack", seq });
  }

  /** The chart does not fit what came: ask for all of it. */
  resync() {
    this.say({ type: "resync" });
  }

  say(message) {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  finish() {
    this.stop("ended");
    this.tell.end();
    this.watchTheEnd();
  }

  refuse(code) {
    this.stop("refused", { code, message: REFUSALS[code] });
    return true;
  }

  stop(state, details = {}) {
    this.isOver = true;
    this.stopPolling();
    for (const timer of Object.values(this.timers)) clearTimeout(timer);
    this.socket?.close();
    this.tell.state(state, details);
  }

  /** A page nobody looks at lets go of its socket after a while and catches up on return. */
  onVisibility() {
    clearTimeout(this.timers.rest);
    if (this.isOver) return document.hidden || !this.timers.ended || this.lookAgain();
    if (document.hidden) {
      this.timers.rest = setTimeout(() => {
        this.isResting = true;
        this.stopPolling();
        clearTimeout(this.timers.retry);
        this.socket?.close();
      }, HIDDEN_FOR_MS);
      return;
    }
    this.isResting = false;
    if (this.socket) this.resync();
    else this.retryNow();
  }

  // --- The state, told once a second and at every change

  report() {
    if (this.isOver || this.isResting) return;
    const silence = performance.now() - this.heardAt;
    if (this.isConnected && silence > CUT_AFTER_MS) return this.cut();
    const details = {
      silentSeconds: Math.round(silence / 1000),
      attempt: this.failures,
      retrySeconds: this.secondsToRetry(),
      dataTime: this.dataTime,
      crowd: this.crowd,
    };
    this.tell.state(this.stateNow(silence), details);
  }

  /** Without waiting for the other end to agree: it may be gone. */
  cut() {
    const socket = this.socket;
    this.heardAt = performance.now();
    this.onClose(socket, { code: 0, reason: "" });
    socket?.close();
  }

  secondsToRetry() {
    const next = this.isPolling ? Math.min(this.retryAt, this.pollAt) : this.retryAt;
    return Math.max(Math.ceil((next - performance.now()) / 1000), 0);
  }

  stateNow(silence) {
    if (!navigator.onLine || (!this.isConnected && this.dataTime && silence > OFFLINE_AFTER_MS)) return "offline";
    if (this.isConnected) return silence > DELAYED_AFTER_MS ? "delayed" : "live";
    if (this.isPolling && !this.pollFailed) return "polling";
    if (this.failures > 0) return "reconnecting";
    return "connecting";
  }
}
