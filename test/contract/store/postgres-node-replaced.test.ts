// @module-tag postgres
import { describe, expect, it } from 'vitest'
import { openBehindProxy } from '../../fixtures/faulty-proxy.ts'
import { executeSql, openTestPostgres } from '../../fixtures/test-postgres.ts'
import { usePostgres } from '../../fixtures/use-postgres.ts'
import { NODE } from './nodes.contract.ts'

const server = usePostgres()

describe('a node whose connection was lost', () => {
  it('ends if another process has entered with its incarnation while its connection was lost', async () => {
    const url = await server.createDatabase()
    const { proxy, url: proxied } = await openBehindProxy(url)
    const { promise: replaced, resolve } = Promise.withResolvers<void>()
    const { nodes: one } = await openTestPostgres(proxied, { onReplaced: resolve })
    await one.register({ ...NODE, incarnation: 'i-a', name: 'a' })
    proxy.refuse(true)
    proxy.cut()
    const { nodes: copy } = await openTestPostgres(url)
    await copy.register({ ...NODE, incarnation: 'i-a', name: 'a' })
    proxy.refuse(false)
    await replaced
    one.serve(99)
    copy.serve(1)
    expect(await copy.acknowledged(1)).toEqual([])
    expect(await copy.list()).toMatchObject([{ name: 'a', position: 1 }])
  })

  it('stays in the list while a process on a copy of its folder has its place, until it has ended', async () => {
    const url = await server.createDatabase()
    const { proxy, url: proxied } = await openBehindProxy(url)
    const { promise: replaced, resolve } = Promise.withResolvers<void>()
    const one = await openTestPostgres(proxied, { onReplaced: resolve })
    await one.nodes.register({ ...NODE, incarnation: 'i-a', name: 'a' })
    proxy.refuse(true)
    proxy.cut()
    await executeSql(url, `UPDATE node SET heard_at = heard_at - interval '1 minute'`)
    const { nodes: copy } = await openTestPostgres(url)
    await copy.register({ ...NODE, incarnation: 'i-renewed', lineage: 'i-a', name: 'a' })
    copy.serve(1)
    expect(await copy.acknowledged(1)).toEqual(['a'])
    expect(await copy.list()).toMatchObject([
      { incarnation: 'i-a', isReplaced: true, isLive: false },
      { incarnation: 'i-renewed', isReplaced: false, isLive: true },
    ])
    proxy.refuse(false)
    await replaced
    copy.serve(2)
    expect(await copy.acknowledged(2)).toEqual(['a'])
    await one.close()
    await expect.poll(() => copy.list(), { timeout: 10_000 }).toMatchObject([{ incarnation: 'i-renewed' }])
    expect(await copy.acknowledged(2)).toEqual([])
  })
})
