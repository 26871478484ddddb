/**
 * Finds parameters that are missing, too long or of the wrong type, for which the SDK would answer with an internal error, or
 * with all of their text.
 */

import { fieldsOf } from '../../../foundation/json/fields.ts'
import { INVALID_PARAMS, type Message, type MessageFault } from '../../../boundary/mcp/message.ts'

/** Maximum lengths by name. */
const TEXTS: ReadonlyMap<string, number> = new Map([
  ['name', 256],
  ['uri', 2_048],
  ['cursor', 6_000],
])
const OBJECTS = ['arguments', '_meta']
const REQUIRED: ReadonlyMap<string, readonly string[]> = new Map([
  ['tools/call', ['name']],
  ['prompts/get', ['name']],
  ['resources/read', ['uri']],
])

export function findParamsFault({ id, method, params }: Message): MessageFault | null {
  const fault = (text: string): MessageFault => ({ status: 200, id, code: INVALID_PARAMS, text })
  const missing = (REQUIRED.get(method) ?? []).find((name) => params[name] === undefined)
  if (missing !== undefined) return fault(`\`params\` lacks \`${missing}\`.`)
  for (const [name, lengthMax] of TEXTS) {
    const value = params[name]
    if (value === undefined || (typeof value === 'string' && value.length <= lengthMax)) continue
    return fault(`\`${name}\` must be a string of at most ${lengthMax} characters.`)
  }
  const noObject = OBJECTS.find((name) => params[name] !== undefined && !isObject(params[name]))
  if (noObject !== undefined) return fault(`\`${noObject}\` must be an object.`)
  const values = method === 'prompts/get' ? Object.values(fieldsOf(params['arguments'])) : []
  if (values.some((value) => typeof value !== 'string')) return fault('The arguments of a prompt must be strings.')
  const token = fieldsOf(params['_meta'])['progressToken']
  const isToken = token === undefined || typeof token === 'string' || Number.isSafeInteger(token)
  return isToken ? null : fault('`progressToken` must be a string or an integer.')
}

/** Finds the same in `initialize`, which belongs to revisions before the stateless one. */
export function findInitializeFault({ id, params }: Message): MessageFault | null {
  const { protocolVersion, capabilities, clientInfo } = params
  const { name, version } = fieldsOf(clientInfo)
  const isComplete = [protocolVersion, name, version].every((value) => typeof value === 'string')
  if (isComplete && isObject(capabilities)) return null
  const text = '`params` must have `protocolVersion`, `capabilities`, and `clientInfo` with a name and a version.'
  return { status: 200, id, code: INVALID_PARAMS, text }
}

function isObject(value: unknown): boolean {
  return fieldsOf(value) === value
}
