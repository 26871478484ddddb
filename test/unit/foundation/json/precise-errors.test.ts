import { expect, it } from 'vitest'
import { toPreciseFaults, type SchemaError } from '../../../../src/foundation/json/precise-errors.ts'

const error = (instancePath: string, keyword: string, more: Partial<SchemaError> = {}): SchemaError => ({
  instancePath,
  keyword,
  params: {},
  message: `must obey ${keyword}`,
  ...more,
})

it('drops a failed alternative whose inner value explains it', () => {
  const errors = [error('/a/b', 'minLength'), error('/a', 'required'), error('/a', 'oneOf'), error('', 'if')]
  expect(toPreciseFaults(errors)).toEqual([{ pointer: '/a/b', detail: 'The value must obey minLength.' }])
})

it('keeps one error of a value that fails all alternatives, with the allowed values if there are any', () => {
  const allowed = error('/type', 'enum', { params: { allowedValues: ['a', 'b'] } })
  expect(toPreciseFaults([error('/type', 'type'), allowed, error('/type', 'anyOf')])).toEqual([
    { pointer: '/type', detail: 'The value must be one of "a", "b".' },
  ])
})

it('places a member that is not allowed, or has a wrong name, at the member', () => {
  const extra = error('/a', 'additionalProperties', { params: { additionalProperty: 'b/c' } })
  const name = error('/d', 'pattern', { propertyName: 'e~' })
  expect(toPreciseFaults([extra, name, error('/d', 'propertyNames')])).toEqual([
    { pointer: '/a/b~1c', detail: 'This member is not allowed here.' },
    { pointer: '/d/e~0', detail: 'The name of this member must obey pattern.' },
  ])
})

it('never returns nothing for a failed value', () => {
  expect(toPreciseFaults([error('/a', 'if')])).toHaveLength(1)
  expect(toPreciseFaults([error('/a', 'anyOf')])).toHaveLength(1)
})

it('reduces a hundred thousand errors in one pass', () => {
  const errors = Array.from({ length: 100_000 }, (_, index) => error(`/a/${index}/b`, 'type'))
  expect(toPreciseFaults([...errors, error('/a', 'oneOf')])).toHaveLength(100_000)
})
