/** Compiles small documents to route plans. */

import { compileRoutePlan } from '../../../../../src/documents/governance/serving/compile-route-plan.ts'
import type { RoutePlan } from '../../../../../src/boundary/plan/route-plan.ts'
import { Problem } from '../../../../../src/foundation/domain/problem.ts'
import { readSpecification } from '../../../../../src/documents/governance/specification.ts'

export const RESPONSES = { 200: { description: 'ok' } }
const SCHEMES = {
  oauth: { type: 'oauth2', flows: { clientCredentials: { tokenUrl: 'https://x.example', scopes: { r: '', w: '' } } } },
  bearer: { type: 'http', scheme: 'Bearer' },
  basic: { type: 'http', scheme: 'basic' },
  key: { type: 'apiKey', in: 'header', name: 'x-api-key' },
}

export async function compileBytes(bytes: Uint8Array): Promise<RoutePlan> {
  return compileRoutePlan({
    specification: await readSpecification(bytes),
    tenant: 'acme',
    revision: 3,
    state: 'Active',
    backend: null,
    allowedScopes: ['r'],
    memberOfProductIds: ['product_1'],
  })
}

export function compile(paths: object, more: object = {}, schemas: object = {}, openapi = '3.0.3'): Promise<RoutePlan> {
  const document = {
    openapi,
    info: { title: 'Shop', version: '1.0.0' },
    paths,
    components: { securitySchemes: SCHEMES, schemas },
    ...more,
  }
  return compileBytes(Buffer.from(JSON.stringify(document)))
}

export const get = (more: object) => ({ '/a': { get: { responses: RESPONSES, ...more } } })
export const json = (schema: unknown) => ({ requestBody: { content: { 'application/json': { schema } } } })
export const post = (schema: unknown, more: object = {}) => ({
  '/a': { post: { responses: RESPONSES, ...json(schema), ...more } },
})

export async function faultsOf(plan: Promise<RoutePlan>): Promise<string[]> {
  const problem = await plan.then(
    () => new Error('the document was accepted'),
    (cause: unknown) => cause,
  )
  if (!(problem instanceof Problem)) throw problem
  return problem.errors.map(({ pointer, detail }) => `${pointer} ${detail}`)
}
