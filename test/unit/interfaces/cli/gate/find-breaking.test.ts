import { writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { documentOf, gate, openFolder } from './working-folder.ts'

interface Found {
  readonly rule: string
  readonly pointer: string
  readonly fingerprint: string
  readonly state: string
}

const text = (maxLength: number) => ({ type: 'string', maxLength })
const listed = (name: string, maxLength: number) => ({ name, in: 'query', schema: text(maxLength) })

/** A parameter and a branch of a body become stricter; `isMoved` puts other items before them. */
function version(maxLength: number, isMoved: boolean): string {
  const parameters = [listed('a', maxLength), listed('b', 5)]
  const branches = [{ type: 'object', required: ['a'], properties: { a: text(maxLength) } }, { type: 'integer' }]
  return documentOf({
    operation: {
      parameters: isMoved ? [listed('c', 5), ...parameters.toReversed()] : parameters,
      ...(isMoved && { description: 'A line more.' }),
    },
    paths: {
      '/others': {
        put: {
          operationId: 'put',
          requestBody: {
            content: { 'application/json': { schema: { anyOf: isMoved ? branches.toReversed() : branches } } },
          },
          responses: { 200: { description: 'Fine.' } },
        },
      },
    },
  })
}

async function findingsOf(...args: readonly string[]): Promise<readonly Found[]> {
  const { out } = await gate('breaking', [...args, '--format', 'json'])
  const { documents } = JSON.parse(out) as { documents: readonly { findings: readonly Found[] }[] }
  return documents[0]!.findings.filter(({ rule }) => rule === 'request.bound')
}

it('the fingerprint of a change depends neither on its line nor on positions in lists', async () => {
  openFolder({ 'old.json': version(9, false), 'new.json': version(8, false), 'moved.json': version(8, true) })
  const [found, moved] = [await findingsOf('old.json', 'new.json'), await findingsOf('old.json', 'moved.json')]
  expect(found).toHaveLength(2)
  const [pointers, others] = [found, moved].map((each) => each.map(({ pointer }) => pointer))
  expect(pointers).not.toEqual(others)
  const sorted = (each: readonly Found[]) => each.map(({ fingerprint }) => fingerprint).sort()
  expect(sorted(moved)).toEqual(sorted(found))
})

it('a baseline knows the changes of a document whose lists are in another order, and no further ones', async () => {
  openFolder({ 'old.json': version(9, false), 'new.json': version(8, false) })
  await gate('breaking', ['old.json', 'new.json', '--write-baseline', 'baseline.json'])
  writeFileSync('new.json', version(8, true))
  const known = ['old.json', 'new.json', '--baseline', 'baseline.json']
  expect((await findingsOf(...known)).map(({ state }) => state)).toEqual(['known', 'known'])
  expect((await gate('breaking', known)).code).toBe(0)
  writeFileSync('new.json', version(7, false))
  expect((await gate('breaking', known)).code).toBe(1)
})
