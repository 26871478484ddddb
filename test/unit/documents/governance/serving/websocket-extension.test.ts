/** `x-tollgate-websocket` is compiled strictly, and so are the units of a WebSocket. */

import { describe, expect, it } from 'vitest'
import { isExposed } from '../../../../../src/boundary/plan/mcp-exposure.ts'
import { packDocument, unpackDocument } from '../../../../../src/boundary/plan/packed-plan.ts'
import { compile, faultsOf, get, json, RESPONSES } from './compiled-plans.ts'

const WEBSOCKET = 'x-tollgate-websocket'
const UNITS = 'x-tollgate-units'
const MAX = 'x-tollgate-max-body-bytes'
const MIB = 1024 * 1024

describe('x-tollgate-websocket', () => {
  it.each([
    [{}, undefined],
    [{ [WEBSOCKET]: false }, undefined],
    [{ [WEBSOCKET]: true }, { messageBytesMax: 16 * MIB }],
    [{ [WEBSOCKET]: true, [MAX]: 1_000 }, { messageBytesMax: 1_000 }],
  ])('%j is %j', async (members, expected) => {
    const plan = await compile(get(members))
    const unpacked = await unpackDocument(packDocument(plan))
    expect([plan.operations[0]?.webSocket, unpacked.operations[0]?.webSocket]).toEqual([expected, expected])
  })

  it.each([
    [get({ [WEBSOCKET]: 'true' }), `get/${WEBSOCKET}`],
    [get({ [WEBSOCKET]: null }), `get/${WEBSOCKET}`],
    [get({ [WEBSOCKET]: { a: 1 } }), `get/${WEBSOCKET}`],
    [get({ [WEBSOCKET]: true, ...json({}) }), `get/${WEBSOCKET}`],
    [get({ [WEBSOCKET]: true, 'x-tollgate-mcp': true }), `get/${WEBSOCKET}`],
    [get({ [WEBSOCKET]: true, [MAX]: 0 }), `get/${MAX}`],
    [get({ [WEBSOCKET]: true, [MAX]: '5' }), `get/${MAX}`],
    [{ '/a': { post: { responses: RESPONSES, [WEBSOCKET]: true } } }, `post/${WEBSOCKET}`],
  ])('%j is refused with a pointer', async (paths, member) => {
    const [fault, ...others] = await faultsOf(compile(paths))
    expect(fault?.split(' ')[0]).toBe(`/paths/~1a/${member}`)
    expect(others).toEqual([])
  })

  it('is no tool, although all operations of the document are', async () => {
    const plan = await compile(get({ [WEBSOCKET]: true }), { 'x-tollgate-mcp': true })
    expect(isExposed(plan, plan.operations[0]!)).toBe(false)
  })

  it.each([
    [{ per: 'message' }, { per: 'message', unitsMicro: 1_000_000 }],
    [
      { per: 'kilobyte', units: 0.5, reserve: 10 },
      { per: 'kilobyte', unitsMicro: 500_000, reserveMicro: 10_000_000 },
    ],
    [{ per: 'call' }, undefined],
  ])('has the units %j', async (units, expected) => {
    const plan = await compile(get({ [WEBSOCKET]: true, [UNITS]: units }))
    expect(plan.operations[0]?.units).toEqual(expected)
  })

  it.each([
    [{ [UNITS]: { per: 'message' } }],
    [{ [UNITS]: { per: 'kilobyte' }, [WEBSOCKET]: false }],
    [{ [UNITS]: { per: 'event' }, [WEBSOCKET]: true }],
    [{ [UNITS]: { per: 'response' }, [WEBSOCKET]: true }],
  ])('does not go with %j', async (members) => {
    const [fault, ...others] = await faultsOf(compile(get(members)))
    expect(fault?.split(' ')[0]).toBe(`/paths/~1a/get/${UNITS}/per`)
    expect(others).toEqual([])
  })
})
