/**
 * Reads `x-tollgate-units`: how the units of a call are counted, of an operation or, at the root, of all operations without one of
 * their own.
 *
 * `per: call` is the default: a call costs the units that the declaration states. For the others, the units are known after the
 * response. Messages and kilobytes are those of a WebSocket.
 */

import { MICRO, toMicro } from '../../../foundation/domain/decimal.ts'
import type { ProblemPointer } from '../../../foundation/domain/problem.ts'
import { fieldsOf, type Fields } from '../../../foundation/json/fields.ts'
import { escapePointer } from '../../../foundation/json/references.ts'
import type { OperationPlan, UnitsPlan } from '../../../boundary/plan/route-plan.ts'
import type { DeclaredOperation } from '../operations.ts'
import { isWebSocket } from './websocket-extension.ts'

const UNITS = 'x-tollgate-units'
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  call: ['per'],
  event: ['per', 'units', 'reserve'],
  message: ['per', 'units', 'reserve'],
  kilobyte: ['per', 'units', 'reserve'],
  response: ['per', 'header', 'reserve', 'max'],
}
const HEADER = 'X-Usage-Units'
const HEADER_NAME = /^[a-z][a-z0-9-]{0,63}$/
/** Headers that frame a response, have a meaning for every client, or are the gateway's own. */
const NOT_USAGE =
  /^(?:connection|content-.*|date|keep-alive|location|proxy-.*|ratelimit.*|retry-after|set-cookie|te|trailer|transfer-encoding|upgrade|vary|via|www-authenticate|x-request-id|x-ru-.*)$/
const MAX_DEFAULT = 10_000_000
const MAX_LIMIT = 999_999_999

/** Returns the plan of an operation whose units are known after the response; nothing for the others. */
export function readUnits(
  document: Fields,
  operation: DeclaredOperation,
  faults: ProblemPointer[],
): Pick<OperationPlan, 'units'> {
  const { value, pointer } = unitsAt(document, operation)
  if (value === undefined) return {}
  const found: ProblemPointer[] = []
  const units = toPlan(value, pointer, found)
  const isTraffic = units?.per === 'message' || units?.per === 'kilobyte'
  if (units !== null && isTraffic !== isWebSocket(operation)) {
    const detail = isTraffic
      ? 'Only WebSockets (`x-tollgate-websocket`) have messages; count others by call, event or response.'
      : 'Count a WebSocket by `call`, `message` or `kilobyte`.'
    found.push({ pointer: `${pointer}/per`, detail })
  }
  // The root is read for each operation.
  const isReported = found.length > 0 && faults.some((known) => known.pointer === found[0]!.pointer)
  if (!isReported) faults.push(...found)
  return units === null || found.length > 0 ? {} : { units }
}

/** Returns the value that applies to an operation, with its place. */
export function unitsAt(document: Fields, { fields, pointer }: DeclaredOperation): { value: unknown; pointer: string } {
  const isOwn = fields[UNITS] !== undefined
  return { value: isOwn ? fields[UNITS] : document[UNITS], pointer: `${isOwn ? pointer : ''}/${UNITS}` }
}

/** Returns null for `per: call` and for a value with faults. */
function toPlan(value: unknown, at: string, faults: ProblemPointer[]): UnitsPlan | null {
  const fields = fieldsOf(value)
  const { per } = fields
  const members = typeof per === 'string' && Object.hasOwn(MEMBERS, per) ? MEMBERS[per]! : null
  if (value !== fields || members === null) {
    const place = value === fields ? `${at}/per` : at
    faults.push({ pointer: place, detail: `Give an object with \`per\`: ${Object.keys(MEMBERS).join(', ')}.` })
    return null
  }
  for (const name of Object.keys(fields)) {
    if (members.includes(name)) continue
    const detail = `\`per: ${String(per)}\` has no such member; it has ${members.join(', ')}.`
    faults.push({ pointer: `${at}/${escapePointer(name)}`, detail })
  }
  const reserveMicro = readMicro(fields['reserve'], `${at}/reserve`, faults)
  const reserve = reserveMicro === undefined ? {} : { reserveMicro }
  if (per === 'event' || per === 'message' || per === 'kilobyte') {
    return { per, unitsMicro: readMicro(fields['units'], `${at}/units`, faults) ?? MICRO, ...reserve }
  }
  if (per !== 'response') return null
  const [header, maxMicro] = [readHeader(fields['header'], at, faults), readMax(fields['max'], at, faults) * MICRO]
  return { per, unitsMicro: MICRO, header, maxMicro, ...reserve }
}

/** Nothing may cost 0 units: a call that reserves nothing would be admitted by a quota that is used up. */
function readMicro(value: unknown, pointer: string, faults: ProblemPointer[]): number | undefined {
  if (value === undefined) return undefined
  const micro = typeof value === 'number' || typeof value === 'string' ? toMicro(String(value)) : null
  if (micro !== null && micro > 0) return micro
  faults.push({ pointer, detail: 'Give a decimal above 0, with at most 9 digits before and 6 after the point.' })
  return undefined
}

function readHeader(value: unknown, at: string, faults: ProblemPointer[]): string {
  const name = value === undefined ? HEADER.toLowerCase() : typeof value === 'string' ? value.toLowerCase() : ''
  if (HEADER_NAME.test(name) && !NOT_USAGE.test(name)) return name
  const detail = `Give the name of a header of the backend's own, such as ${HEADER}: letters, digits and hyphens.`
  faults.push({ pointer: `${at}/header`, detail })
  return name
}

function readMax(value: unknown, at: string, faults: ProblemPointer[]): number {
  if (value === undefined) return MAX_DEFAULT
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_LIMIT) return value
  faults.push({ pointer: `${at}/max`, detail: `Give an integer from 1 to ${MAX_LIMIT}.` })
  return MAX_DEFAULT
}
