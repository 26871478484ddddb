import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openFolder, openKept } from '../../../../src/cli/configuration/file-source.ts'
import { readFolder } from '../../../../src/cli/configuration/read-folder.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'configuration-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const read = (text: string, env = {}) => readFolder(openKept({ 'all.yaml': text }), env)

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
    const folder = readFolder(openFolder(dir), {})
    expect(folder.owner).toBe('team-a')
    expect(folder.resources).toEqual([
      { kind: 'api', name: 'things-v1', fields: { document: 'apis/things.openapi.yaml' }, file: 'apis/things.yaml' },
      { kind: 'consumer', name: 'One', fields: { kind: 'application' }, file: 'consumers.yml' },
      { kind: 'consumer', name: 'Two', fields: { kind: 'agent' }, file: 'consumers.yml' },
    ])
    expect(folder.readFile('apis/things.openapi.yaml')).toBe('openapi: 3.1.0\n')
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
    expect(() => read(text, { HOST: 'a.example' })).toThrow('all.yaml: the variable SECRET is not set.')
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
    ['a key twice', 'resource: role\nname: x\nname: y\n', 'Map keys must be unique'],
    ['broken YAML', 'resource: role\nname: [\n', 'all.yaml: '],
  ])('with %s is refused in one sentence', (_, text, sentence) => {
    expect(() => read(text)).toThrow(sentence)
  })

  it('with a bomb of aliases is refused', () => {
    const levels = Array.from({ length: 12 }, (_, index) => {
      return `l${index + 1}: &l${index + 1} [${Array(10).fill(`*l${index}`).join(', ')}]`
    })
    expect(() => read(['resource: role', 'l0: &l0 x', ...levels, ''].join('\n'))).toThrow('too many aliases')
  })

  it('with deep nesting is refused', () => {
    expect(() => read(`resource: role\nname: x\nscopes: ${'['.repeat(100)}${']'.repeat(100)}\n`)).toThrow(
      'all.yaml is nested too deeply.',
    )
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
