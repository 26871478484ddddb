/** What the gateway decides about the requests and responses of a document with one operation, `POST /things/{id}`. */

import { authorise } from '../../../../../src/gateway/authentication/authorise.ts'
import { createRouteTable } from '../../../../../src/gateway/routing/route-table.ts'
import { compileResponses } from '../../../../../src/gateway/validation/declared-responses.ts'
import { compileValidators } from '../../../../../src/gateway/validation/validate.ts'
import { compileRoutePlan } from '../../../../../src/documents/governance/serving/compile-route-plan.ts'
import type { Caller } from '../../../../../src/boundary/plan/caller.ts'
import type { OperationPlan } from '../../../../../src/boundary/plan/route-plan.ts'
import { read } from './small-documents.ts'

export interface Request {
  /** After `/things/7`. */
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent as it is. */
  readonly raw?: string
  readonly type?: string
  /** Whether the request has no credential; without any of the three members every operation may be called. */
  readonly isAnonymous?: boolean
  /** Scopes of the token. */
  readonly token?: readonly string[]
  /** Scopes of the subscription of the key. */
  readonly key?: readonly string[]
}

export interface Response {
  readonly status?: number
  readonly type?: string
  readonly body?: unknown
}

export interface Gateway {
  accepts(request: Request): boolean
  /** Whether the contract, as the gateway watches it, allows the response. */
  allows(response: Response): boolean
}

const SCOPES = ['a', 'b', 'c']

export async function openGateway(document: unknown): Promise<Gateway> {
  const plan = compileRoutePlan({
    specification: await read(document),
    tenant: 'acme',
    revision: 1,
    state: 'Active',
    backend: null,
    allowedScopes: SCOPES,
    memberOfProductIds: [],
  })
  const routes = createRouteTable(plan.operations)
  const [validators] = await compileValidators(structuredClone(plan))
  const [declared] = compileResponses(plan)

  return {
    accepts({ query = '', headers = {}, body, raw, type = 'application/json', ...caller }) {
      const target = `/things/7${query}`
      const queryAt = target.includes('?') ? target.indexOf('?') : target.length
      const match = routes.find('POST', target, 0, queryAt)
      if (match === null || 'allowed' in match || validators === undefined) return false
      if (!isAuthorised(plan.operations[0]!, caller)) return false
      const request = {
        url: target,
        rawHeaders: Object.entries(headers).flatMap(([name, value]) => [name, String(value)]),
      }
      if ((validators.parameters?.(match, request, queryAt) ?? null) !== null) return false
      const text = raw ?? (body === undefined ? undefined : JSON.stringify(body))
      const way = validators.body?.accepts(type, text !== undefined)
      if (way === undefined) return true
      if ('code' in way) return false
      const bytes = Buffer.from(text ?? '')
      return way.mode !== 'check' || (bytes.length <= way.bytesMax && way.check(bytes) === null)
    },
    allows({ status = 200, type = 'application/json', body }) {
      if (declared === null || declared === undefined) return true
      const response = declared.find(status)
      if (response === null || !response.accepts(type)) return false
      const check = response.checkFor(type)
      return check === null || check(body) === null
    },
  }
}

/** A call without a credential is accepted by a public operation only. */
function isAuthorised({ security }: OperationPlan, { isAnonymous = false, token, key }: Request): boolean {
  if (!isAnonymous && token === undefined && key === undefined) return true
  const keyed = key === undefined ? undefined : toCaller('key', key)
  const caller = token === undefined ? keyed : { ...toCaller('token', token), ...(keyed && { key: keyed }) }
  const allowedScopes = new Set(SCOPES)
  const scope = { allowedScopes, heldScopes: allowedScopes, plan: { tenant: 'acme', memberOfProductIds: [] } }
  return caller === undefined ? security.length === 0 : authorise(security, caller, scope) === null
}

function toCaller(method: Caller['method'], scopes: readonly string[]): Caller {
  const grant = { tenant: 'acme', apiProductId: '' } as Caller['grant']
  return {
    grant,
    method,
    api: 'things-v1',
    scopes: new Set(scopes),
    agent: '',
    person: '',
    jti: '',
    expiresAtMs: Infinity,
    certificate: '',
  }
}
