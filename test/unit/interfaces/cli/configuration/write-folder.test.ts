import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openFolder, openKept } from '../../../../../src/interfaces/cli/configuration/file-source.ts'
import { readFolder } from '../../../../../src/interfaces/cli/configuration/read-folder.ts'
import { checkSecrets, createVariables } from '../../../../../src/interfaces/cli/configuration/variables.ts'
import type { Found } from '../../../../../src/interfaces/cli/configuration/resource.ts'
import { filesOf, writeFolder } from '../../../../../src/interfaces/cli/configuration/write-folder.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'dump-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const FOUND: readonly Found[] = [
  {
    kind: 'api',
    name: 'things-v1',
    fields: { document: '{"openapi":"3.1.0"}', declarations: ['opensla: 1.0.0\n'], labels: { a: 'b' } },
    id: 'things-v1',
    tags: [],
  },
  { kind: 'consumer', name: 'b ${HOME}: "x"\n', fields: { kind: 'agent' }, id: 'con_2', tags: [] },
  { kind: 'consumer', name: 'a', fields: { kind: 'agent', contact: '${A} $${B} $5' }, id: 'con_1', tags: [] },
  { kind: 'policy', name: 'tenant', fields: { secondFactor: 'off' }, id: 'tenant', tags: [] },
]

it('writes a folder that reads as the same resources, without ids', () => {
  const files = filesOf(FOUND, 'team-a')
  expect([...files.keys()].sort()).toEqual([
    'apis/things-v1.1.opensla.yaml',
    'apis/things-v1.openapi.json',
    'apis/things-v1.yaml',
    'consumers.yaml',
    'policy.yaml',
    'tollgate.yaml',
  ])
  expect([...files.values()].join('')).not.toContain('con_')
  const folder = readFolder(openKept(Object.fromEntries(files)), createVariables({}))
  expect(folder.owner).toBe('team-a')
  const plain = folder.resources.map(({ kind, name, fields }) => ({ kind, name, fields }))
  expect(plain).toEqual([
    {
      kind: 'api',
      name: 'things-v1',
      fields: {
        document: 'apis/things-v1.openapi.json',
        declarations: ['apis/things-v1.1.opensla.yaml'],
        labels: { a: 'b' },
      },
    },
    { kind: 'consumer', name: 'a', fields: { kind: 'agent', contact: '${A} $${B} $5' } },
    { kind: 'consumer', name: 'b ${HOME}: "x"\n', fields: { kind: 'agent' } },
    { kind: 'policy', name: 'tenant', fields: { secondFactor: 'off' } },
  ])
})

it('replaces YAML files only if asked for, and removes those that are gone', () => {
  writeFileSync(join(dir, 'old.yaml'), 'x: 1\n')
  writeFileSync(join(dir, 'README.md'), 'mine\n')
  expect(() => writeFolder(dir, FOUND, null, false)).toThrow('is not empty')
  writeFolder(dir, FOUND, null, true)
  expect(readdirSync(dir).sort()).toEqual(['README.md', 'apis', 'consumers.yaml', 'policy.yaml'])
  expect(readFolder(openFolder(dir), createVariables({})).resources).toHaveLength(4)
})

it('keeps the owner of a folder whose files it replaces', () => {
  writeFolder(dir, FOUND, 'team-a', false)
  writeFolder(dir, FOUND, null, true)
  expect(readFolder(openFolder(dir), createVariables({})).owner).toBe('team-a')
})

it('writes into no folder that a link names', () => {
  const other = mkdtempSync(join(tmpdir(), 'other-'))
  writeFileSync(join(other, 'mine.yaml'), 'x: 1\n')
  symlinkSync(other, join(dir, 'apis'))
  expect(() => writeFolder(dir, FOUND, null, true)).toThrow('apis is no folder.')
  expect(readdirSync(other)).toEqual(['mine.yaml'])
  rmSync(other, { recursive: true })
})

const NAMES = ['../../x', 'a/b', '..', '.', '', 'a\u0000b', 'a\nb', '\u202eb', 'CON', 'é', 'x'.repeat(300), '-', 'apis']
const SAME = [
  'things-v1',
  'Things-v1',
  'things-v1.openapi',
  'things.v1',
  'things/v1',
  'things-v1.1.opensla',
  'THINGS-V1',
]

it('writes a file for each API within the folder, whatever the names of the service', () => {
  const hostile = [...NAMES, ...SAME].map((name) => ({
    ...FOUND[0]!,
    name,
    fields: { document: JSON.stringify(name) },
  }))
  const paths = [...filesOf(hostile, null).keys()]
  expect(new Set(paths.map((path) => path.toLowerCase())).size).toBe(2 * hostile.length)
  for (const path of paths) expect(path).toMatch(/^apis\/[a-z0-9][a-z0-9-]{0,90}(?:\.openapi)?\.yaml$/)
  writeFolder(dir, hostile, null, true)
  const source = openFolder(dir)
  const { resources } = readFolder(source, createVariables({}))
  const names = resources.map(
    ({ name, fields }) => [name, JSON.parse(source.read(String(fields['document'])))] as const,
  )
  expect(names.map(([name]) => name).toSorted()).toEqual(hostile.map(({ name }) => name).toSorted())
  for (const [name, document] of names) expect(document).toBe(name)
})

it('splits a large number of resources into files that are read quickly', () => {
  const many = Array.from({ length: 10_000 }, (_, index) => ({ ...FOUND[2]!, name: `App ${index}` }))
  const files = filesOf(many, null)
  expect([...files.keys()]).toEqual(['consumers.yaml', 'consumers-2.yaml'])
  expect(readFolder(openKept(Object.fromEntries(files)), createVariables({})).resources).toHaveLength(10_000)
})

it('asks for the client secret of an identity provider, which the service does not return', () => {
  const fields = { signIn: { clientId: 'c', roles: [] } }
  const provider = { kind: 'identityprovider', name: 'https://login.example/x', fields, id: 'idp_1', tags: [] }
  const files = filesOf([provider], null)
  const read = (env: Readonly<Record<string, string>>) =>
    readFolder(openKept(Object.fromEntries(files)), createVariables(env)).resources[0]!.fields
  expect(read({ CLIENT_SECRET_LOGIN_EXAMPLE_X: 's' })).toEqual({ signIn: { ...fields.signIn, clientSecret: 's' } })
  expect(() => checkSecrets(read({}))).toThrow('the variable CLIENT_SECRET_LOGIN_EXAMPLE_X is not set.')
})
