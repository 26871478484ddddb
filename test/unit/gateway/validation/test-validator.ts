/** Compiles a document with one operation as a gateway thread does, and validates requests against it. */

import { compileRoutePlan } from '../../../../src/documents/governance/serving/compile-route-plan.ts'
import { readSpecification } from '../../../../src/documents/governance/specification.ts'
import { createRouteTable } from '../../../../src/gateway/routing/route-table.ts'
import { compileValidators } from '../../../../src/gateway/validation/validate.ts'

export interface TestValidatorOptions {
  readonly openapi?: string
  readonly path?: string
  readonly operation: Record<string, unknown>
  readonly components?: Record<string, unknown>
}

export interface Sent {
  readonly headers?: Record<string, string>
  readonly body?: string | Buffer
  readonly type?: string | undefined
  readonly encoding?: string
}

export async function openTestValidator({
  openapi = '3.0.3',
  path = '/a',
  operation,
  components = {},
}: TestValidatorOptions) {
  const document = {
    openapi,
    info: { title: 'Test', version: '1.0.0' },
    paths: { [path]: { post: { responses: { 200: { description: 'ok' } }, ...operation } } },
    components,
  }
  const specification = await readSpecification(Buffer.from(JSON.stringify(document)))
  const plan = compileRoutePlan({
    specification,
    tenant: 'acme',
    revision: 1,
    state: 'Active',
    backend: null,
    allowedScopes: [],
    memberOfProductIds: [],
  })
  const routes = createRouteTable(plan.operations)
  const [validators] = await compileValidators(structuredClone(plan))

  /** Returns `ok`, `stream`, or the code and the errors of the failure. */
  function send(target: string, { headers = {}, body, type = 'application/json', encoding }: Sent = {}): string {
    const queryAt = target.includes('?') ? target.indexOf('?') : target.length
    const match = routes.find('POST', target, 0, queryAt)
    if (match === null || 'allowed' in match || validators === undefined) throw new Error(`no route for ${target}`)
    const request = { url: target, rawHeaders: Object.entries(headers).flat() }
    const failure = validators.parameters?.(match, request, queryAt) ?? null
    if (failure !== null) return show(failure)
    if (validators.body === null) return 'ok'
    const way = validators.body.accepts(type, body !== undefined, encoding)
    if ('code' in way) return show(way)
    if (way.mode !== 'check') return way.mode === 'none' ? 'ok' : 'stream'
    const fault = way.check(Buffer.from(body ?? ''))
    return fault === null ? 'ok' : show(fault)
  }

  return { send, plan, validators }
}

function show({
  code,
  detail,
  errors,
}: {
  code: string
  detail: string
  errors: readonly { pointer: string; detail: string }[]
}): string {
  if (errors.length === 0) return `${code}: ${detail}`
  return `${code}: ${errors.map((error) => `${error.pointer} ${error.detail}`).join('; ')}`
}
