/** How the units of a call are counted (`x-tollgate-units`), and whether it is a WebSocket, in two versions of an operation. */

import type { DeclaredOperation } from '../operations.ts'
import { readUnits, unitsAt } from '../serving/units-extension.ts'
import { isWebSocket } from '../serving/websocket-extension.ts'
import type { Sides } from './sides.ts'

/** The root may have changed, although the operation has not. */
export function compareUnits({ previous, next, report }: Sides, before: DeclaredOperation, after: DeclaredOperation) {
  const [{ units: was }, { units: is }] = [readUnits(previous, before, []), readUnits(next, after, [])]
  if (JSON.stringify(was) === JSON.stringify(is)) return
  const [from, to] = [unitsAt(previous, before), unitsAt(next, after)]
  report('operation.units', {
    pointer: to.value === undefined ? after.pointer : to.pointer,
    previousPointer: from.value === undefined ? before.pointer : from.pointer,
    detail: `per ${was?.per ?? 'call'} to per ${is?.per ?? 'call'}`,
  })
}

export function compareWebSocket({ report }: Sides, before: DeclaredOperation, after: DeclaredOperation) {
  const [was, is] = [isWebSocket(before), isWebSocket(after)]
  if (was === is) return
  const detail = is ? 'the operation became a WebSocket' : 'the operation is no WebSocket any more'
  report('operation.websocket', { pointer: after.pointer, previousPointer: before.pointer, detail })
}
