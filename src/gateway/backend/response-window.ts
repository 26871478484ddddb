/** Responses of one backend in the last ten seconds, summed by second. */

import type { UpstreamReport } from './upstream-gate.ts'

export type ResponseCounts = Pick<UpstreamReport, 'ok' | 'failed' | 'latencyUs'>

const WINDOW_SECONDS = 10

export class ResponseWindow {
  readonly #bySecond = new Map<number, ResponseCounts>()

  add({ ok, failed, latencyUs }: ResponseCounts, nowMs: number): void {
    const second = Math.floor(nowMs / 1_000)
    const before = this.#bySecond.get(second) ?? { ok: 0, failed: 0, latencyUs: 0 }
    this.#bySecond.set(second, {
      ok: before.ok + ok,
      failed: before.failed + failed,
      latencyUs: before.latencyUs + latencyUs,
    })
    for (const other of this.#bySecond.keys()) {
      // Later seconds are from before the clock was set back.
      if (other <= second - WINDOW_SECONDS || other > second) this.#bySecond.delete(other)
    }
  }

  sum(): ResponseCounts {
    let [ok, failed, latencyUs] = [0, 0, 0]
    for (const counts of this.#bySecond.values()) {
      ok += counts.ok
      failed += counts.failed
      latencyUs += counts.latencyUs
    }
    return { ok, failed, latencyUs }
  }

  clear(): void {
    this.#bySecond.clear()
  }
}
