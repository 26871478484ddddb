/** The need of the calls that wait for a lease of one counter. */

export class LeaseNeed {
  /** The most and the least that a waiting call needs. */
  most = 0
  least = 0
  /** Need of the last call that waited: a lease of less serves none. */
  unit = 1

  add(calls: number, least: number): void {
    this.least = this.most === 0 ? least : Math.min(this.least, least)
    this.most = Math.max(this.most, calls)
    this.unit = least
  }
}
