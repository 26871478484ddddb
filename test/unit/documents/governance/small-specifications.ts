/** Small OpenAPI documents, and what reading them yields. */

import { expect } from 'vitest'
import { Problem } from '../../../../src/foundation/domain/problem.ts'
import { readSpecification, type Specification } from '../../../../src/documents/governance/specification.ts'

export const RESPONSES = { 200: { description: 'ok' } }
export const minimal = (more: object = {}, operation: object = {}): Record<string, unknown> => ({
  openapi: '3.0.3',
  info: { title: 'Payments API', version: '2.4.1' },
  paths: { '/payments/{id}': { get: { responses: RESPONSES, ...operation } } },
  ...more,
})

export const read = (document: unknown): Promise<Specification> =>
  readSpecification(typeof document === 'string' ? Buffer.from(document) : Buffer.from(JSON.stringify(document)))

/** Returns the faults as `pointer detail`. */
export async function faultsOf(document: unknown): Promise<string[]> {
  const problem = await read(document).then(
    () => new Error('it was taken'),
    (cause: unknown) => cause,
  )
  if (!(problem instanceof Problem) || problem.code !== 'specification_invalid') throw problem
  expect(problem.status).toBe(400)
  return problem.errors.map(({ pointer, detail }) => `${pointer} ${detail}`)
}
