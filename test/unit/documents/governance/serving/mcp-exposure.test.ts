import { describe, expect, it } from 'vitest'
import { packDocument, unpackDocument } from '../../../../../src/boundary/plan/packed-plan.ts'
import { compile, faultsOf, get, RESPONSES } from './compiled-plans.ts'

const MCP = 'x-tollgate-mcp'

describe('x-tollgate-mcp', () => {
  it.each([
    [{ [MCP]: true }, {}, { isOn: true }],
    [{ [MCP]: false }, {}, { isOn: false }],
    [{ [MCP]: { mode: 'search' } }, {}, { isOn: true, mode: 'search' }],
    [{ [MCP]: {} }, {}, { isOn: true }],
    [{}, { [MCP]: true }, { isOn: false }],
    [{}, {}, undefined],
  ])('%j with an operation %j is %j', async (root, operation, expected) => {
    const plan = await compile(get(operation), root)
    expect(plan.mcp).toEqual(expected)
    expect((await unpackDocument(packDocument(plan))).mcp).toEqual(expected)
  })

  it('is kept for each operation that has it', async () => {
    const plan = await compile({ ...get({ [MCP]: false }), '/b': { get: { responses: RESPONSES } } }, { [MCP]: true })
    expect(plan.operations.map(({ mcp }) => mcp)).toEqual([false, undefined])
  })

  it.each([
    [{ [MCP]: 'yes' }, {}, '/x-tollgate-mcp'],
    [{ [MCP]: { mode: 'all' } }, {}, '/x-tollgate-mcp'],
    [{ [MCP]: { modes: 'tools' } }, {}, '/x-tollgate-mcp'],
    [{}, { [MCP]: {} }, '/paths/~1a/get/x-tollgate-mcp'],
  ])('must be valid: %j, %j', async (root, operation, pointer) => {
    const [fault] = await faultsOf(compile(get(operation), root))
    expect(fault).toMatch(new RegExp(`^${pointer} `))
  })

  it('is refused if the document declares the path of the endpoint', async () => {
    const paths = { '/mcp': { post: { responses: RESPONSES } } }
    expect(await faultsOf(compile(paths, { [MCP]: true }))).toEqual([
      '/paths/~1mcp/post The gateway serves MCP at /mcp; rename the path, or remove x-tollgate-mcp.',
    ])
    expect((await compile(paths, { [MCP]: false })).operations).toHaveLength(1)
  })

  it('keeps the texts of the document, shortened', async () => {
    const parameters = [{ name: 'q', in: 'query', description: 'the query', schema: { description: 'words' } }]
    const operation = { summary: 'S'.repeat(300), description: 'D'.repeat(2_000), parameters }
    const { operations } = await compile(get(operation), { [MCP]: true })
    const [compiled] = operations
    expect([compiled?.summary?.length, compiled?.description?.length]).toEqual([200, 1_000])
    expect(compiled?.parameters[0]).toMatchObject({ description: 'the query', schema: { description: 'words' } })
  })

  it('is needed for descriptions to be kept', async () => {
    const parameters = [{ name: 'q', in: 'query', description: 'the query', schema: { description: 'words' } }]
    const [operation] = (await compile(get({ summary: 'S', description: 'D', parameters }))).operations
    expect(operation).toMatchObject({ summary: 'S', parameters: [{ name: 'q', schema: {} }] })
    expect(JSON.stringify(operation)).not.toContain('description')
  })
})
