/** The commands and the OpenAPI document of the platform agree, in both directions. */

import { describe, expect, it } from 'vitest'
import { SECTIONS } from '../../../../../src/interfaces/cli/command-list.ts'
import {
  FIELD_KINDS,
  fieldsOf,
  isPaged,
  wordsOf,
  type ResourceCommand,
} from '../../../../../src/interfaces/cli/resources/resource-command.ts'
import { GROUPS } from '../../../../../src/interfaces/cli/resources/resource-groups.ts'
import { buildOpenApi } from '../../../../../src/interfaces/platform/openapi.ts'
import { FOUND_KINDS } from '../../../../../src/control/programmes/search.ts'
import { ALL_OPERATIONS } from '../../../../../src/interfaces/platform/operations.ts'

/** Operations without a command, with the reason. */
const WITHOUT_COMMAND: Readonly<Record<string, string>> = {
  subscribeToRisks: '`tollgate risks tail` reads the stream',
  getIndex: '`tollgate service addresses` has the same',
  putApiPolicy: '`tollgate apis set-policy` changes what is given',
  putTenantPolicy: '`tollgate policy set` changes what is given',
  replaceRole: '`tollgate roles update` changes what is given',
  getProtectedResource: 'metadata for OAuth clients',
  getMcpProtectedResource: 'metadata for MCP clients',
}
/** Fields that no option sets, with the reason. `--input` takes all fields. */
const WITHOUT_OPTION: Readonly<Record<string, string>> = {
  'stageRevision.transform': 'it has lists of lists: `--input` or a folder of `tollgate apply` sets it',
  'createUser.password': 'a secret is no argument; without it the answer has a link that sets the password',
  'createEventSubscription.secret': 'a secret is no argument; without it the service makes one',
  'createIdentityProvider.signIn': 'contains a client secret',
  'updateIdentityProvider.signIn': 'contains a client secret',
  'explainRefusal.token': 'a token is no argument; `--input` reads it from a file or from standard input',
}
const PAGING = ['limit', 'cursor']
/** Former names of filters. */
const FORMER = ['listSubscriptions.ApiId', 'listSubscriptions.ApiProductId', 'listProgrammes.status']

interface Documented {
  readonly operationId: string
  readonly call: string
  readonly query: readonly string[]
  readonly body: Readonly<Record<string, { readonly type?: string | readonly string[] }>>
}

interface Part {
  readonly operationId: string
  readonly parameters?: readonly { readonly name: string; readonly in: string }[]
  readonly requestBody?: {
    readonly content: Readonly<
      Record<string, { readonly schema: { readonly $ref?: string; readonly properties?: Documented['body'] } }>
    >
  }
}

const document = buildOpenApi({
  operations: ALL_OPERATIONS,
  baseUrl: 'https://platform.example',
  gatewayUrl: 'https://gateway.example',
}) as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Part>>>>
  readonly components: { readonly schemas: Readonly<Record<string, { readonly properties?: Documented['body'] }>> }
}

const documented: readonly Documented[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { operationId, parameters = [], requestBody }]) => {
    const schema = requestBody?.content['application/json']?.schema
    const named = document.components.schemas[schema?.$ref?.split('/').at(-1) ?? '']
    return {
      operationId,
      call: `${method.toUpperCase()} ${path}`,
      query: parameters.filter((each) => each.in === 'query').map(({ name }) => name),
      body: schema?.properties ?? named?.properties ?? {},
    }
  }),
)
const commands: readonly ResourceCommand[] = GROUPS.flatMap((group) => group.commands)
const commandOf = new Map(commands.map((command) => [command.operation, command]))

const differences = (
  check: (operation: Documented, command: ResourceCommand) => readonly string[],
): readonly string[] =>
  documented.flatMap((operation) => {
    const command = commandOf.get(operation.operationId)
    return command === undefined ? [] : check(operation, command)
  })

describe('The commands for resources', () => {
  it('cover every operation of the platform API, except those that are listed with a reason', () => {
    const without = documented.map(({ operationId }) => operationId).filter((id) => !commandOf.has(id))
    expect(without.sort()).toEqual(Object.keys(WITHOUT_COMMAND).sort())
  })

  it('name each kind that a search finds, in its help and in its answer without a result', () => {
    const { summary, none = '' } = commandOf.get('search')!
    for (const kind of FOUND_KINDS) {
      const [one, more] = kind === 'user' ? ['person', 'people'] : [kind, `${kind}s`]
      expect(summary.toLowerCase()).toContain(more)
      expect(none.toLowerCase()).toContain(one)
    }
  })

  it('name only operations that exist, each once, with its method and path', () => {
    expect(commands.length).toBe(commandOf.size)
    const calls = new Map(documented.map(({ operationId, call }) => [operationId, call]))
    expect(commands.filter(({ operation, call }) => calls.get(operation) !== call)).toEqual([])
  })

  it('have an option for every filter, and page through lists', () => {
    const found = differences(({ operationId, query }, command) => {
      const filters = wordsOf(command.filters)
      const given = isPaged(command) ? [...filters, ...PAGING] : filters
      return [...new Set([...query, ...given])]
        .filter((name) => query.includes(name) !== given.includes(name))
        .map((name) => `${operationId}.${name}`)
    })
    expect([...found].sort()).toEqual([...FORMER].sort())
  })

  it('have an option for every field of a body, except those that are listed with a reason', () => {
    const found = differences(({ operationId, body }, command) => {
      const fields = fieldsOf(command).map(({ name }) => name)
      return [...new Set([...Object.keys(body), ...fields])]
        .filter((name) => name in body !== fields.includes(name))
        .map((name) => `${operationId}.${name}`)
    })
    expect([...found].sort()).toEqual(Object.keys(WITHOUT_OPTION).sort())
  })

  it('convert each field to the type that the operation takes', () => {
    const types: Readonly<Record<string, readonly string[]>> = {
      array: ['list', 'json'],
      object: ['map', 'json', 'address'],
      boolean: ['flag', 'boolean'],
      integer: ['number'],
      number: ['number'],
      string: ['text', 'file', 'secret'],
    }
    const found = differences(({ operationId, body }, command) =>
      fieldsOf(command)
        .filter(({ name, kind }) => {
          const [type = 'object'] = [body[name]?.type ?? 'object'].flat()
          return !FIELD_KINDS.includes(kind) || !types[type]?.includes(kind)
        })
        .map(({ name, kind }) => `${operationId}.${name}:${kind}`),
    )
    expect(found).toEqual([])
  })

  it('are listed in the help of the programme, with an example for each group', () => {
    const listed = SECTIONS.flatMap(({ entries }) => entries.map(({ name }) => name))
    expect(GROUPS.filter(({ name, examples }) => !listed.includes(name) || examples.length === 0)).toEqual([])
  })
})
