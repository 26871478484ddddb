import { describe, expect, it, onTestFinished } from 'vitest'
import { createLazyWatch } from '../../../../src/control/command/lazy-watch.ts'
import { openSqliteRegistry } from '../../../../src/storage/store/sqlite/registry.ts'
import { documentKind } from '../../../../src/storage/store/registry.ts'
import { once } from '../../../fixtures/throwing.ts'
import { createFakeClock } from '../../../fixtures/fake-clock.ts'

const KIND = documentKind<object>('thing', 'hidden')
const AUTHOR = { tenant: 'acme', consumer: 'con_1' }

function open() {
  const registry = openSqliteRegistry({ path: ':memory:', clock: createFakeClock(0) })
  onTestFinished(() => registry.close())
  const seen: string[] = []
  const watch = createLazyWatch(registry, ({ document }) => void seen.push(document.id))
  const change = (id: string) =>
    registry.commit(AUTHOR, 'test', [{ kind: KIND, id, tenant: 'acme', expected: 0, body: {} }])
  return { registry, seen, watch, change }
}

describe('a lazy watch', () => {
  it('receives each change after its first use once', async () => {
    const { seen, watch, change } = open()
    await change('a')
    await Promise.all([watch(), watch()])
    await watch()
    await change('b')
    expect(seen).toEqual(['b'])
  })

  it('that could not be opened is opened by the next use', async () => {
    const { registry, seen, watch, change } = open()
    registry.end = once(registry.end)
    await expect(watch()).rejects.toThrow('injected')
    await watch()
    await change('a')
    expect(seen).toEqual(['a'])
  })
})
