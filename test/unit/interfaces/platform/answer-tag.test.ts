import { describe, expect, it } from 'vitest'
import { tagAnswer } from '../../../../src/interfaces/platform/answer-tag.ts'
import { etagOf } from '../../../../src/interfaces/platform/conditional.ts'
import type { Operation, Operations } from '../../../../src/interfaces/platform/operation.ts'
import { object, text } from '../../../../src/interfaces/platform/schemas.ts'

describe('the ETag of the answer to a change', () => {
  const shared = {
    path: '/v1/things/:id',
    summary: 'Reads',
    tag: 'Service',
    scope: 'health:read',
    status: 200,
  } as const
  const thing = { id: text, name: text }
  const getThing: Operation = { ...shared, method: 'GET', answer: object(thing) }
  const tagOf = (change: Partial<Operation>) => {
    const operation: Operation = { ...shared, method: 'POST', answer: object(thing), ...change }
    const operations: Operations = { getThing, change: operation }
    return tagAnswer(operations, operation)({ id: '1', name: 'a', secret: 's' })
  }
  const current = etagOf('{"id":"1","name":"a"}')

  it('is that of the resource, whatever the answer adds', () => {
    expect(tagOf({ changes: 'getThing' })).toBe(current)
    expect(tagOf({ changes: 'getThing', answer: object({ ...thing, secret: text }) })).toBe(current)
    expect(tagOf({ status: 201, path: '/v1/things' })).toBe(current)
    expect(tagOf({ status: 202, location: '/v1/things/:thing', path: '/v1/things' })).toBe(current)
  })

  it('is missing if the answer is not the resource, or not all of it', () => {
    expect(tagOf({ changes: 'getThing', answer: object({ id: text }) })).toBe(null)
    expect(tagOf({ status: 202, location: '/v1/progress/:id', changes: 'getThing' })).toBe(null)
    expect(tagOf({})).toBe(null)
  })
})
