import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { readDocument, type DocumentInput } from '../../../../../src/interfaces/cli/gate/read-document.ts'
import { documentOf, gate, openFolder } from './working-folder.ts'

const NONE = Readable.from([])
const THING = 'type: object\nproperties:\n  name: { type: string }\n'

/** A document whose schema is a reference. */
function referTo(reference: string): string {
  const content = { 'application/json': { schema: { $ref: reference } } }
  return documentOf({ operation: { requestBody: { content }, responses: { 200: { description: 'ok' } } } })
}

const faultsOf = ({ sources }: DocumentInput): string[] => [...(sources?.faults.values() ?? [])]
const textOf = ({ bytes }: DocumentInput): string => Buffer.from(bytes).toString()

describe('a document that refers to other files', () => {
  it('is read with them, and the places of its parts are in them', async () => {
    openFolder({ 'api/a.json': referTo('./parts/thing.yaml'), 'api/parts/thing.yaml': THING })
    const { bytes, sources } = await readDocument('api/a.json', null, NONE)
    expect(JSON.parse(Buffer.from(bytes).toString())).toMatchObject({
      components: { schemas: { thing: { properties: { name: { type: 'string' } } } } },
    })
    const pointers = ['/components/schemas/thing/properties/name', '/info/title']
    const placeOf = sources!.findPlaces(pointers)
    expect(pointers.map(placeOf)).toEqual([
      { file: 'api/parts/thing.yaml', line: 3, column: 3 },
      { file: 'api/a.json', line: 4, column: 5 },
    ])
  })

  it('stays byte for byte what it is if all its references are its own', async () => {
    const text = referTo('#/paths/~1things')
    openFolder({ 'a.json': text })
    expect(await readDocument('a.json', null, NONE)).toMatchObject({ sources: null, bytes: Buffer.from(text) })
  })

  it('may refer to files of the folder that --root names', async () => {
    openFolder({ 'api/a.json': referTo('../thing.yaml'), 'thing.yaml': THING, 'other/x': '' })
    expect(faultsOf(await readDocument('api/a.json', null, NONE))).toEqual([
      'The reference leaves the folder of the document; --root names a folder that holds both.',
    ])
    expect(textOf(await readDocument('api/a.json', null, NONE))).toContain('../thing.yaml')
    expect(textOf(await readDocument('api/a.json', '.', NONE))).toContain('#/components/schemas/thing')
    await expect(readDocument('api/a.json', 'other', NONE)).rejects.toThrow('is not below the folder other')
    await expect(readDocument('api/a.json', 'none', NONE)).rejects.toThrow('--root none: there is no such folder.')
  })

  it('may come from standard input if --root names the folder', async () => {
    openFolder({ 'thing.yaml': THING })
    const stdin = () => Readable.from([Buffer.from(referTo('thing.yaml'))])
    const alone = await readDocument('-', null, stdin())
    expect(faultsOf(alone)).toEqual(['Standard input has no folder; --root names one.'])
    expect(alone.sources?.findPlaces(['/info'])('/info')).toEqual({ file: 'stdin', line: 3, column: 3 })
    expect(textOf(await readDocument('-', '.', stdin()))).toContain('#/components/schemas/thing')
  })

  it('may come from a commit, with its files as of that commit', { tags: ['git'] }, async () => {
    openFolder({ 'api/a.json': referTo('thing.yaml'), 'api/thing.yaml': THING })
    execFileSync('git', ['init', '-q', '-b', 'main'])
    execFileSync('git', ['add', '.'])
    execFileSync('git', ['-c', 'user.name=Test', '-c', 'user.email=t@example.com', 'commit', '-q', '-m', 'First'])
    writeFileSync('api/thing.yaml', 'type: string\n')
    const { sources, bytes } = await readDocument('git:main:api/a.json', null, NONE)
    expect(Buffer.from(bytes).toString()).toContain('"properties"')
    expect(sources!.findPlaces(['/components/schemas/thing/type'])('/components/schemas/thing/type')).toEqual({
      file: 'git:main:api/thing.yaml',
      line: 1,
      column: 1,
    })
  })
})

describe('a reference of a document', () => {
  it('never leads out of its folder through a link, and never into git or standard input', async () => {
    openFolder({ 'secret.yaml': THING, 'api/x': '' })
    symlinkSync('../secret.yaml', 'api/link.yaml')
    mkdirSync('outside')
    symlinkSync('../outside', 'api/folder')
    writeFileSync('outside/b.yaml', THING)
    for (const reference of ['link.yaml', 'folder/b.yaml', './git:HEAD:secret.yaml', './-', 'folder']) {
      writeFileSync('api/a.json', referTo(reference))
      const input = await readDocument('api/a.json', null, NONE)
      expect(faultsOf(input)).toHaveLength(1)
      expect(textOf(input)).not.toContain('properties')
    }
  })

  it('to a missing file is a finding at its place, in the file that holds it', async () => {
    openFolder({ 'a.json': referTo('thing.yaml'), 'thing.yaml': `${THING}  part: { $ref: parts/none.yaml }\n` })
    const { code, out } = await gate('lint', ['a.json'])
    expect(code).toBe(1)
    expect(out).toContain('✗ thing.yaml:4:11  error     parts/none.yaml: there is no such file.')
  })

  it('is compared by what it names', async () => {
    openFolder({
      'old/a.json': referTo('thing.yaml'),
      'old/thing.yaml': THING,
      'new/a.json': referTo('thing.yaml'),
      'new/thing.yaml': `${THING}required: [name]\n`,
    })
    const { code, out } = await gate('breaking', ['old/a.json', 'new/a.json'])
    expect(code).toBe(1)
    expect(out).toMatch(/✗ new\/thing\.yaml:\d:\d \(was old\/thing\.yaml:\d:\d\) {2}breaking/)
    expect((await gate('breaking', ['old/a.json', 'old/a.json'])).code).toBe(0)
  })
})
