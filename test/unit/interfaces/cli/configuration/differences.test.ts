import { describe, expect, it } from 'vitest'
import {
  describeChange as describeWith,
  findAdoptions,
  findChanges,
  findRemovals,
  type Change,
} from '../../../../../src/interfaces/cli/configuration/differences.ts'
import { openKept } from '../../../../../src/interfaces/cli/configuration/file-source.ts'
import type { Context } from '../../../../../src/interfaces/cli/configuration/handler.ts'
import { createNames } from '../../../../../src/interfaces/cli/configuration/names.ts'
import { readFolder } from '../../../../../src/interfaces/cli/configuration/read-folder.ts'
import type { Found } from '../../../../../src/interfaces/cli/configuration/resource.ts'
import { createVariables } from '../../../../../src/interfaces/cli/configuration/variables.ts'

function folderOf(files: Readonly<Record<string, string>>) {
  const source = openKept(files)
  const folder = readFolder(source, createVariables({}))
  // Comparing reads no service.
  const context = { names: createNames(), readFile: source.read } as unknown as Context
  return { folder, context }
}

const describeChange = (change: Change) => describeWith(change, (text) => text)

const found = (kind: string, name: string, fields: Found['fields'] = {}): Found => {
  return { kind, name, fields, id: `id-${name}`, tags: ['"1"'] }
}

describe('the changes of a folder', () => {
  it('follow the order of dependencies, whatever the order of the files', () => {
    const { folder, context } = folderOf({
      'a.yaml':
        'resource: subscription\nconsumer: App\napi: things-v1\n---\nresource: product\nname: All\napis: [things-v1]\n',
      'b.yaml': 'resource: consumer\nname: App\nkind: application\n---\nresource: role\nname: helper\nscopes: []\n',
      'c.yaml': 'resource: api\nname: things-v1\ndocument: things.json\n',
      'things.json': '{}',
    })
    expect(findChanges(context, folder, []).map(describeChange)).toEqual([
      '+ role helper',
      '+ api things-v1',
      '+ product All',
      '+ consumer App',
      '+ subscription App to things-v1',
    ])
  })

  it('leave fields alone that a file leaves out, and empty those that are null', () => {
    const { folder, context } = folderOf({ 'a.yaml': 'resource: consumer\nname: App\ncontact: null\nlabels: {}\n' })
    const service = [found('consumer', 'App', { kind: 'agent', contact: 'a@b.example', exposure: 'Public' })]
    expect(findChanges(context, folder, service).map(describeChange)).toEqual([
      '~ consumer App\n    contact: "a@b.example" → null',
    ])
  })

  it('cannot be faked by names of the service', () => {
    const change = { action: 'remove', found: found('consumer', 'a\u001b[2Jb\nc') } as const
    expect(describeChange(change)).not.toMatch(/[\u001b\n]/)
  })

  it('ignore the order of scopes, and compare documents by their text', () => {
    const { folder, context } = folderOf({
      'a.yaml': 'resource: role\nname: helper\nscopes: [b, a]\n',
      'b.yaml': 'resource: api\nname: things-v1\ndocument: things.json\npolicy: {exposure: Public}\n',
      'things.json': '{"a": 1}',
    })
    const policy = { exposure: 'Public', tokenAlgorithm: 'ES256' }
    const same = [
      found('role', 'helper', { scopes: ['a', 'b'] }),
      found('api', 'things-v1', { document: '{"a": 1}', policy }),
    ]
    expect(findChanges(context, folder, same)).toEqual([])
    const other = [same[0]!, found('api', 'things-v1', { document: '{"a":1}', policy })]
    expect(findChanges(context, folder, other).map(describeChange)).toEqual([
      '~ api things-v1\n    document: things.json differs',
    ])
  })

  it('refuse several resources of the service with a name that the folder uses, and ignore others', () => {
    const { folder, context } = folderOf({ 'a.yaml': 'resource: consumer\nname: App\nkind: agent\n' })
    const several = (name: string) => [found('consumer', name), found('consumer', name)]
    expect(() => findChanges(context, folder, several('App'))).toThrow(
      'The service has several resources consumer App; rename or remove all but one of them.',
    )
    expect(findChanges(context, folder, several('Other'))).toHaveLength(1)
  })

  it('are none for the number of a subscription, another spelling of a time, and a part of a backend or an approval', () => {
    const { folder, context } = folderOf({
      'a.yaml': 'resource: subscription\nconsumer: App\napi: x-v1\nnumber: 1\nexpiresAt: 2030-01-01T00:00:00Z\n',
      'b.yaml': 'resource: api\nname: x-v1\nbackend: {url: "http://a"}\nallowedScopes: [b, a]\n',
      'c.yaml': 'resource: policy\napproval: {exposures: [Public, Internal]}\n',
      'd.yaml': 'resource: user\nusername: ann\nroles: [{role: b, consumers: [Y, X]}, {role: a}]\n',
    })
    const service: readonly Found[] = [
      found('subscription', 'App to x-v1', { consumer: 'App', api: 'x-v1', expiresAt: '2030-01-01T00:00:00.000Z' }),
      {
        ...found('api', 'x-v1', { backend: { url: 'http://a', timeoutMs: 5 } }),
        defaults: { allowedScopes: ['a', 'b'] },
      },
      found('policy', 'tenant', { approval: { minScore: 1, exposures: ['Internal', 'Public'] } }),
      found('user', 'ann', { roles: [{ role: 'a' }, { role: 'b', consumers: ['X', 'Y'] }] }),
    ]
    expect(findChanges(context, folder, service).map(describeChange)).toEqual([])
  })

  it('show the order of the rulesets that a ruleset extends', () => {
    const { folder, context } = folderOf({ 'a.yaml': 'resource: ruleset\ndescription: R\nextends: [b, a]\n' })
    expect(findChanges(context, folder, [found('ruleset', 'R', { extends: ['a', 'b'] })])).toHaveLength(1)
  })
})

describe('ownership', () => {
  const owned = { labels: { 'managed-by': 'team-a' } }
  const files = { 'tollgate.yaml': 'managedBy: team-a\n', 'a.yaml': 'resource: consumer\nname: App\nkind: agent\n' }

  it('labels new resources, and keeps the owner of existing ones', () => {
    const { folder, context } = folderOf(files)
    const [created] = findChanges(context, folder, [])
    expect(created).toMatchObject({ action: 'create', wanted: { fields: { kind: 'agent', ...owned } } })
    expect(findChanges(context, folder, [found('consumer', 'App', { kind: 'agent' })])).toEqual([])
    const others = { kind: 'agent', labels: { 'managed-by': 'team-b', x: 'y' } }
    expect(findChanges(context, folder, [found('consumer', 'App', others)])).toEqual([])
  })

  it('removes what carries its label and is not in the folder, dependents first', () => {
    const { folder } = folderOf(files)
    const service = [
      found('consumer', 'App', owned),
      found('consumer', 'Old', owned),
      found('consumer', 'Other', { labels: { 'managed-by': 'team-b' } }),
      found('consumer', 'Free'),
      found('subscription', 'Old to things-v1', owned),
    ]
    expect(findRemovals(folder, service).map(describeChange)).toEqual([
      '- subscription Old to things-v1',
      '- consumer Old',
    ])
    expect(findRemovals(folderOf({}).folder, service)).toEqual([])
  })

  it('is taken for existing resources of the folder only, and from no other folder', () => {
    const { folder } = folderOf(files)
    const service = [found('consumer', 'App', { labels: { x: 'y' } }), found('consumer', 'Free')]
    const { changes } = findAdoptions(folder, service, new Set())
    expect(changes.map(describeChange)).toEqual([
      '~ consumer App\n    labels: {"x":"y"} → {"x":"y","managed-by":"team-a"}',
    ])
    const other = [found('consumer', 'App', { labels: { 'managed-by': 'team-b' } })]
    expect(findAdoptions(folder, other, new Set())).toEqual({
      changes: [],
      refused: ['consumer App is managed by team-b.'],
    })
    const refused = ['consumer App is the access of the client that runs this command.']
    expect(findAdoptions(folder, service, new Set([service[0]!.id]))).toEqual({ changes: [], refused })
  })
})
