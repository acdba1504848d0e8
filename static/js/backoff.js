/** How long to wait before another try: doubling, capped, with full jitter so that pages do not return all at once. */
const FIRST_MS = 500;
const LONGEST_MS = 30_000;

/**
 * @param {number} failures how many tries failed in a row, from 1
 * @param {number} longest no wait is longer than this
 * @returns {number} milliseconds
 */
export function backoff(failures, longest = LONGEST_MS) {
  const ceiling = Math.min(FIRST_MS * 2 ** failures, longest);
  return Math.random() * ceiling;
}
