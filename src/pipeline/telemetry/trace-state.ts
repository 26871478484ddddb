/** A `tracestate` that was validated when the call arrived, as the serializers read it. Spans are finished: nothing changes it. */

export interface FixedTraceState {
  serialize(): string
  get(key: string): string | undefined
  set(): FixedTraceState
  unset(): FixedTraceState
}

export function createTraceState(text: string): FixedTraceState {
  const members = text.split(',').map((member) => member.trim())
  const state: FixedTraceState = {
    serialize: () => text,
    get: (key) => members.find((member) => member.startsWith(`${key}=`))?.slice(key.length + 1),
    set: () => state,
    unset: () => state,
  }
  return state
}
