import { expect, it } from 'vitest'
import { operationsOf } from '../../../../../src/console/views/portal/operations-of.ts'

it('lists operations with the parameters of their paths, and follows references', () => {
  const document = {
    paths: {
      '/a/{id}': {
        parameters: [{ $ref: '#/components/parameters/id' }],
        get: {
          summary: 'Reads',
          parameters: [{ name: 'q', in: 'query', description: 'Text' }],
          responses: { 200: { $ref: '#/components/responses/a~1b' } },
        },
      },
    },
    components: {
      parameters: { id: { name: 'id', in: 'path', required: true } },
      responses: { 'a/b': { description: 'Done' } },
    },
  }
  expect(operationsOf(document)).toEqual([
    {
      key: 'get /a/{id}',
      method: 'GET',
      path: '/a/{id}',
      summary: 'Reads',
      description: '',
      parameters: [
        { name: 'id', place: 'path', isRequired: true, description: '' },
        { name: 'q', place: 'query', isRequired: false, description: 'Text' },
      ],
      responses: [['200', 'Done']],
    },
  ])
})

it.each([
  null,
  [],
  'text',
  {},
  { paths: null },
  { paths: [] },
  { paths: { '/a': null } },
  { paths: { '/a': { get: null, post: 'x' } } },
  { paths: { '/a': { get: { parameters: {}, responses: [] } } } },
  { paths: { '/a': { get: { parameters: [null, { $ref: '#/__proto__/x' }, { $ref: 'https://evil.example' }] } } } },
  { paths: { '/a': { get: { summary: { toString: 1 }, responses: { 200: { description: [] } } } } } },
])('shows any shape of a document as text: %j', (document) => {
  for (const { summary, description, parameters } of operationsOf(document)) {
    expect([typeof summary, typeof description]).toEqual(['string', 'string'])
    for (const each of parameters) expect(typeof each.name).toBe('string')
  }
})
