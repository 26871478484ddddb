/**
 * Checks the history of a run against what was promised.
 *
 * Nobody knows when a node admitted a call, only that it was after the call was sent and before it reached the backend. A call counts
 * in an interval if both lie in it, so that every violation that is found is one.
 */

export interface HistoryCall {
  readonly caller: string
  readonly node: string
  readonly sentMs: number
  /** When the call reached the backend, which is the proof that it was admitted; null if it did not. */
  readonly arrivedMs: number | null
  /** When the backend had answered it, or its connection was gone. */
  readonly leftMs: number | null
  /** Null if the client got no whole response. */
  readonly status: number | null
  /** The backend that answered, as the response says. */
  readonly answer: string | null
}

/** A value that was in force from the start of the command that set it until the answer of the next command. */
export interface DeclaredValue {
  readonly value: number
  readonly askedMs: number
  /** From then on no other value is in force; null if the answer named pending nodes, or did not come. */
  readonly answeredMs: number | null
}

type Admitted = HistoryCall & { readonly arrivedMs: number }

/** Returns a sentence for each window of `windowMs` in which more calls were admitted than declared. */
export function checkTotal(
  calls: readonly HistoryCall[],
  declared: readonly DeclaredValue[],
  windowMs: number,
): readonly string[] {
  const windows = new Map<number, Admitted[]>()
  for (const call of calls.filter(isAdmitted)) {
    const startMs = call.sentMs - (call.sentMs % windowMs)
    if (call.arrivedMs >= startMs + windowMs) continue
    const inWindow = windows.get(startMs)
    if (inWindow === undefined) windows.set(startMs, [call])
    else inWindow.push(call)
  }
  return [...windows].flatMap(([startMs, inWindow]) => {
    const limit = limitOf(inWindow, declared, startMs, startMs + windowMs)
    return inWindow.length <= limit ? [] : [`${inWindow.length} of ${limit} calls in the window at ${startMs}`]
  })
}

/** Returns how many calls a window may have: what the values of its end allow, or what was admitted under those before. */
function limitOf(
  inWindow: readonly Admitted[],
  declared: readonly DeclaredValue[],
  startMs: number,
  endMs: number,
): number {
  const lasting = declared.findLastIndex(({ answeredMs }) => answeredMs !== null && answeredMs <= startMs)
  const possible = declared.slice(Math.max(0, lasting)).filter(({ askedMs }) => askedMs < endMs)
  let limit = 0
  for (const [index, { value }] of possible.entries()) {
    const replacedMs = possible.slice(index + 1).find(({ answeredMs }) => answeredMs !== null)?.answeredMs ?? Infinity
    const before = replacedMs >= endMs ? Infinity : inWindow.filter(({ sentMs }) => sentMs <= replacedMs).length
    limit = Math.max(limit, Math.min(value, before))
  }
  return limit
}

/** Returns a sentence if any interval has more calls than the rate of `value` calls in `spanMs` admits. */
export function checkRate(calls: readonly HistoryCall[], value: number, spanMs: number): readonly string[] {
  const admitted = calls.filter(isAdmitted).toSorted((a, b) => a.arrivedMs - b.arrivedMs)
  for (const { sentMs: fromMs } of admitted) {
    let count = 0
    for (const { sentMs, arrivedMs } of admitted) {
      if (sentMs < fromMs) continue
      count++
      const limit = Math.floor(value + ((arrivedMs - fromMs) * value) / spanMs)
      if (count > limit) return [`${count} of ${limit} calls from ${fromMs} to ${arrivedMs}`]
    }
  }
  return []
}

/** Returns a sentence if more calls were at the backend at once than declared. */
export function checkConcurrent(calls: readonly HistoryCall[], value: number): readonly string[] {
  const events = calls
    .filter(isAdmitted)
    .flatMap(({ arrivedMs, leftMs }) => [
      { atMs: arrivedMs, step: 1 },
      ...(leftMs === null ? [] : [{ atMs: leftMs, step: -1 }]),
    ])
  let running = 0
  for (const { atMs, step } of events.toSorted((a, b) => a.atMs - b.atMs || a.step - b.step)) {
    running += step
    if (running > value) return [`${running} of ${value} calls at once at ${atMs}`]
  }
  return []
}

/** Returns a sentence for each call that was admitted although it was sent after `answeredMs`, when the caller had been revoked. */
export function checkRevoked(calls: readonly HistoryCall[], answeredMs: number): readonly string[] {
  return calls
    .filter(isAdmitted)
    .flatMap(({ sentMs, node }) => (sentMs > answeredMs ? [`a revoked caller was served at ${node}, ${sentMs}`] : []))
}

export interface Activation {
  readonly answer: string
  /** Null if the answer named pending nodes, or did not come. */
  readonly answeredMs: number | null
}

/** Returns a sentence for each call that an earlier revision answered although it was sent after the command's answer. */
export function checkActivations(calls: readonly HistoryCall[], activations: readonly Activation[]): readonly string[] {
  const order = new Map(activations.map(({ answer }, index) => [answer, index]))
  return calls.flatMap(({ sentMs, answer, node }) => {
    if (answer === null) return []
    const least = activations.findLastIndex(({ answeredMs }) => answeredMs !== null && answeredMs < sentMs)
    const served = order.get(answer) ?? -1
    return served >= least ? [] : [`${node} served ${answer} at ${sentMs}, after ${activations[least]?.answer}`]
  })
}

function isAdmitted(call: HistoryCall): call is Admitted {
  return call.arrivedMs !== null
}
