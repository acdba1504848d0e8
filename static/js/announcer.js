/** Tells screen readers how the run stands: at most every 15 seconds, and at milestones. */
const QUIET_MS = 15_000;
const MILESTONES = [25, 50, 75, 100];

export class Announcer {
  /** @param {HTMLElement} region */
  constructor(region) {
    this.region = region;
    this.saidAt = performance.now();
    this.percent = null;
    this.state = null;
  }

  hear(snapshot) {
    const isMilestone = MILESTONES.some((mark) => this.percent !== null && this.percent < mark && snapshot.percent >= mark);
    const isNewState = this.state !== null && this.state !== snapshot.state;
    this.percent = snapshot.percent;
    this.state = snapshot.state;
    const isDue = performance.now() - this.saidAt >= QUIET_MS;
    if (!isMilestone && !isNewState && !isDue) return;
    this.saidAt = performance.now();
    this.region.textContent = snapshot.text.summary;
  }
}
