/** Which calls are sampled for traces, as `OTEL_TRACES_SAMPLER` states it. */

export interface TraceSampler {
  /** Whether the flag of the client decides if the call belongs to a trace of the client. */
  readonly isParentBased: boolean
  /** Share of the other calls, 0 to 1. */
  readonly ratio: number
}
