import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openFolder, openKept } from '../../../../src/cli/configuration/file-source.ts'
import { readFolder } from '../../../../src/cli/configuration/read-folder.ts'
import type { Found } from '../../../../src/cli/configuration/resource.ts'
import { filesOf, writeFolder } from '../../../../src/cli/configuration/write-folder.ts'

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
  const folder = readFolder(openKept(Object.fromEntries(files)), {})
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
  expect(readFolder(openFolder(dir), {}).resources).toHaveLength(4)
})

it('writes no file outside of the folder, whatever the service answers', () => {
  const hostile = { ...FOUND[0]!, name: '../../x' }
  expect(() => filesOf([hostile], null)).toThrow('"../../x" cannot be the name of a file.')
})
