/** How long to wait before another try: doubling, capped, with full jitter so that pages do not return all at once. */
const FIRST_MS = 500;
const LONGEST_MS = 30_000;

/**
 * @param {number} failures how many tries failed in a row, from 1
 * @returns {number} milliseconds
 */
export function backoff(failures) {
  const ceiling = Math.min(FIRST_MS * 2 ** failures, LONGEST_MS);
  return Math.random() * ceiling;
}
