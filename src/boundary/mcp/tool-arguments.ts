/** The arguments of a tool: one for each parameter of its operation, and one for the body. */

import { isJson } from '../../foundation/domain/media-type.ts'
import { isReadable } from '../plan/parameter-style.ts'
import type { BodyPlan, OperationPlan, ParameterPlan } from '../plan/route-plan.ts'

/** Whether an argument may set this header. The service sets some itself, and does not accept them from a client. */
export type AcceptsHeader = (name: string) => boolean

export interface ToolBody {
  readonly mediaType: string
  readonly kind: 'json' | 'form' | 'text'
  readonly schema: unknown
  readonly isRequired: boolean
}

export interface ToolArguments {
  /** By the name of the argument. */
  readonly parameters: ReadonlyMap<string, ParameterPlan>
  /** Null if the operation has no body, or none that a model can write. */
  readonly body: (ToolBody & { readonly name: string }) | null
}

const FORM = 'application/x-www-form-urlencoded'
/** Clients refuse longer names of arguments. */
const NAME_LENGTH_MAX = 64

export function toToolArguments(
  { parameters: plans, body: plan }: OperationPlan,
  acceptsHeader: AcceptsHeader,
): ToolArguments {
  const parameters = new Map<string, ParameterPlan>()
  for (const parameter of plans) {
    if (isSendable(parameter, acceptsHeader))
      parameters.set(freeName(parameter.name, parameter.in, parameters), parameter)
  }
  const body = plan === null ? null : toToolBody(plan)
  return { parameters, body: body && { ...body, name: freeName('body', 'request', parameters) } }
}

/** Whether a call of the operation can be written as arguments. */
export function isWritable({ parameters, body }: OperationPlan, acceptsHeader: AcceptsHeader): boolean {
  if (body !== null && body.required && toToolBody(body) === null) return false
  return parameters.every((parameter) => !parameter.required || isSendable(parameter, acceptsHeader))
}

function isSendable(parameter: ParameterPlan, acceptsHeader: AcceptsHeader): boolean {
  return isReadable(parameter) && (parameter.in !== 'header' || acceptsHeader(parameter.name))
}

function toToolBody({ content, required: isRequired }: BodyPlan): ToolBody | null {
  const entries = Object.entries(content)
  const kinds = [
    ['json', isJson],
    ['form', (type: string) => type === FORM],
    ['text', (type: string) => type.startsWith('text/') && !type.includes('*')],
  ] as const
  for (const [kind, isKind] of kinds) {
    const found = entries.find(([type]) => isKind(type))
    if (found !== undefined) return { mediaType: found[0], kind, schema: found[1], isRequired }
  }
  const isAny = entries.some(([type]) => type === '*/*' || type === 'application/*')
  return isAny ? { mediaType: 'application/json', kind: 'json', schema: null, isRequired } : null
}

function freeName(name: string, prefix: string, taken: ReadonlyMap<string, unknown>): string {
  const plain = name.replace(/[^A-Za-z0-9_.-]/g, '_').slice(0, NAME_LENGTH_MAX) || prefix
  if (!taken.has(plain) && plain !== '__proto__') return plain
  const prefixed = `${prefix}_${plain}`.slice(0, NAME_LENGTH_MAX)
  for (let number = 1; ; number++) {
    const suffix = number === 1 ? '' : `_${number}`
    const result = prefixed.slice(0, NAME_LENGTH_MAX - suffix.length) + suffix
    if (!taken.has(result)) return result
  }
}
