/** One that stands between the load and the backend, and whose CPU is counted. */

export interface Contestant {
  readonly name: string
  readonly url: string
  readonly token: string
  /** CPU used so far by what serves calls. */
  cpuMs(): number
  /** CPU of the whole process, where that is more than what serves calls. */
  wholeCpuMs?(): number
  stop(): Promise<void>
}

/** Path of the one operation that is called. */
export const BENCH_PATH = '/bench-v1/items/itm_0f6b1c9d2e3a4758'
