import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openFolder, openKept } from '../../../../../src/interfaces/cli/configuration/file-source.ts'
import { readFolder } from '../../../../../src/interfaces/cli/configuration/read-folder.ts'
import { createVariables } from '../../../../../src/interfaces/cli/configuration/variables.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'configuration-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const read = (text: string, env = {}) => readFolder(openKept({ 'all.yaml': text }), createVariables(env))

describe('a folder', () => {
  it('has several resources in a file, and documents of APIs beside them', () => {
    mkdirSync(join(dir, 'apis'))
    writeFileSync(join(dir, 'tollgate.yaml'), 'managedBy: team-a\n')
    writeFileSync(join(dir, 'apis/things.openapi.yaml'), 'openapi: 3.1.0\n')
    writeFileSync(join(dir, 'apis/things.yaml'), 'resource: api\nname: things-v1\ndocument: apis/things.openapi.yaml\n')
    writeFileSync(
      join(dir, 'consumers.yml'),
      'resource: consumer\nname: One\nkind: application\n---\nresource: consumer\nname: Two\nkind: agent\n',
    )
    const source = openFolder(dir)
    const folder = readFolder(source, createVariables({}))
    expect(folder.owner).toBe('team-a')
    expect(folder.resources).toEqual([
      { kind: 'api', name: 'things-v1', fields: { document: 'apis/things.openapi.yaml' }, file: 'apis/things.yaml' },
      { kind: 'consumer', name: 'One', fields: { kind: 'application' }, file: 'consumers.yml' },
      { kind: 'consumer', name: 'Two', fields: { kind: 'agent' }, file: 'consumers.yml' },
    ])
    expect(source.taken()['apis/things.openapi.yaml']).toBe('openapi: 3.1.0\n')
  })

  it('names a subscription by its consumer and its API or product, and its number', () => {
    const { resources } = read(
      [
        'resource: subscription\nconsumer: App\napi: things-v1\n',
        'resource: subscription\nconsumer: App\nproduct: All\n',
        'resource: subscription\nconsumer: App\napi: things-v1\nnumber: 2\n',
      ].join('---\n'),
    )
    expect(resources.map(({ name }) => name)).toEqual(['App to things-v1', 'App to All', 'App to things-v1 (2)'])
  })

  it('takes secrets from the environment', () => {
    const text = 'resource: eventsubscription\nurl: https://${HOST}/$${HOST}\nsecret: ${SECRET}\n'
    expect(read(text, { HOST: 'a.example', SECRET: 's' }).resources).toEqual([
      {
        kind: 'eventsubscription',
        name: 'https://a.example/${HOST}',
        fields: { secret: 's' },
        file: 'all.yaml',
      },
    ])
    expect(() => read(text, { SECRET: 's' })).toThrow('all.yaml: the variable HOST is not set.')
  })

  it.each([
    ['a byte order mark', '\uFEFFresource: role\nname: x\n'],
    ['JSON', '{"resource": "role", "name": "x"}'],
    ['a quoted key', '"resource": role\nname: x\n'],
    ['a comment', '# roles\n--- # first\nresource: role\nname: x\n'],
    ['an empty document', 'resource: role\nname: x\n---\n'],
    ['Windows line ends', 'resource: role\r\nname: x\r\n'],
  ])('is read with %s', (_, text) => {
    expect(read(text).resources).toMatchObject([{ kind: 'role', name: 'x' }])
  })

  it('may have documents that only another parser accepts, if an API names them', () => {
    const files = {
      'a.openapi.yaml': 'openapi: 3.1.0\nx-a: {resource: 1}\nx-a: {resource: 2}\n',
      'z.yaml': 'resource: api\nname: a-v1\ndocument: ./a.openapi.yaml\n',
    }
    expect(readFolder(openKept(files), createVariables({})).resources).toHaveLength(1)
    const { 'a.openapi.yaml': broken } = files
    expect(() => readFolder(openKept({ 'a.openapi.yaml': broken }), createVariables({}))).toThrow('has a key twice')
  })
})

describe('a bad folder', () => {
  it.each([
    ['an unknown resource', 'resource: thing\nname: x\n', 'all.yaml: there is no resource "thing".'],
    ['an unknown field', 'resource: role\nname: x\nscope: []\n', 'all.yaml: role x has no field "scope".'],
    ['a hostile field', 'resource: role\nname: x\n__proto__: {a: 1}\n', 'all.yaml: role x has no field "__proto__".'],
    ['no name', 'resource: role\nscopes: []\n', 'all.yaml: a role has no name.'],
    ['an API and a product', 'resource: subscription\nconsumer: a\napi: b\nproduct: c\n', 'a subscription has no name'],
    [
      'two of one name',
      'resource: role\nname: x\n---\nresource: role\nname: x\n',
      'role x is in all.yaml and in all.yaml.',
    ],
    ['a key twice', 'resource: role\nname: x\nname: y\n', 'all.yaml has a key twice in one map.'],
    ['a key twice within', 'resource: role\nname: x\nlabels: [{a: 1, "a": 2}]\n', 'has a key twice in one map.'],
    ['broken YAML', 'resource: role\nname: [\n', 'all.yaml cannot be read: '],
    [
      'a misspelt second document',
      'resource: role\nname: x\n---\nresourse: role\n',
      'document 2 has no member resource',
    ],
    ['labels that are no map', 'resource: role\nname: x\nlabels: [a]\n', 'role x: labels must map names to texts.'],
    ['a missing document', 'resource: api\nname: x\ndocument: y.yaml\n', 'The plan has no file y.yaml.'],
    ['a list as a document', 'resource: api\nname: x\ndocument: [y]\n', 'api x: document must be a path.'],
    ['a text as declarations', 'resource: api\nname: x\ndeclarations: y\n', 'declarations must be a list of paths.'],
    ['a text as backend', 'resource: api\nname: x\nbackend: y\n', 'api x: backend must be an object.'],
    ['a null role', 'resource: user\nusername: x\nroles: [null]\n', 'roles must be a list of objects with a role.'],
    ['half a number', 'resource: subscription\nconsumer: a\napi: b\nnumber: 1.5\n', 'must be a whole number from 1.'],
    ['a name that is no text', 'resource: role\nname: {a: 1}\n', 'all.yaml: a role has no name.'],
    ['a member of a prototype', 'resource: role\nname: ${toString}\n', 'the variable toString is not set.'],
  ])('with %s is refused in one sentence', (_, text, sentence) => {
    expect(() => read(text)).toThrow(sentence)
  })

  it('with a bomb of aliases is refused', () => {
    const levels = Array.from({ length: 12 }, (_, index) => {
      return `l${index + 1}: &l${index + 1} [${Array(10).fill(`*l${index}`).join(', ')}]`
    })
    expect(() => read(['resource: role', 'l0: &l0 x', ...levels, ''].join('\n'))).toThrow('too many aliases')
  })

  it.each([100, 100_000])('with %d levels is refused', (levels) => {
    expect(() => read(`resource: role\nname: x\nscopes: ${'['.repeat(levels)}${']'.repeat(levels)}\n`)).toThrow(
      'all.yaml is nested too deeply.',
    )
  })

  it('with a map of 100,000 keys is read, though not in quadratic time', () => {
    const labels = Array.from({ length: 100_000 }, (_, index) => `  k${index}: a\n`).join('')
    expect(read(`resource: role\nname: x\nlabels:\n${labels}`).resources).toHaveLength(1)
  })

  it('with a large file of resources is refused before it is parsed', () => {
    expect(() => read(`resource: role\nname: x\ndescription: ${'x'.repeat(10_000_000)}\n`)).toThrow(
      'all.yaml is larger than 2 MB.',
    )
  })

  it('with a pipe in place of a file is refused', () => {
    execFileSync('mkfifo', [join(dir, 'pipe.yaml')])
    expect(() => readFolder(openFolder(dir), createVariables({}))).toThrow('pipe.yaml is no file.')
  })

  it('is read without the folders of tools', () => {
    for (const name of ['.git', 'node_modules/tool']) {
      mkdirSync(join(dir, name), { recursive: true })
      writeFileSync(join(dir, name, 'a.yaml'), 'resource: role\nname: x\n')
    }
    expect(openFolder(dir).files).toEqual([])
  })

  it('reads no file outside of it, also not through a link', () => {
    const other = mkdtempSync(join(tmpdir(), 'other-'))
    writeFileSync(join(other, 'secret'), 'x')
    symlinkSync(join(other, 'secret'), join(dir, 'link'))
    const source = openFolder(dir)
    for (const path of ['../secret', '/etc/passwd', 'link', `${other}/secret`]) {
      expect(() => source.read(path)).toThrow(/outside the folder|cannot be read/)
    }
    rmSync(other, { recursive: true })
  })
})
