import { describe, expect, it } from 'vitest'
import { RevisionConflict } from '../../../src/storage/store/registry.ts'
import { AUTHOR, write, startRegistry, type FreshRegistry } from './registry-contract-helpers.ts'

/** The audit log of every registry; run once per adapter. */
export function auditContract(name: string, fresh: FreshRegistry): void {
  describe(`audit log: ${name}`, () => {
    const start = () => startRegistry(fresh)
    const all = { tenant: 'acme', bodiesOf: ['thing'], limit: 100 }

    it('lists creations, changes, removals and reads, newest first, with the previous bodies', async () => {
      const { clock, registry } = await start()
      await registry.commit(AUTHOR, 'make', [write('a', 0, { n: 1 })])
      clock.set(2_000)
      await registry.audit({ ...AUTHOR, person: 'usr_1' }, 'read', { kind: 'thing', id: 'a', tenant: 'acme' })
      clock.set(3_000)
      await registry.commit(AUTHOR, 'change', [write('a', 1, { n: 2 })])
      await registry.commit(AUTHOR, 'remove', [write('a', 2, null)])

      const entries = (await registry.history(all)).map(({ position: _, ...entry }) => entry)
      const of = { kind: 'thing', id: 'a', author: AUTHOR }
      expect(entries).toEqual([
        { ...of, atMs: 3_000, action: 'remove', fromRevision: 2, toRevision: null, before: { n: 2 }, after: null },
        { ...of, atMs: 3_000, action: 'change', fromRevision: 1, toRevision: 2, before: { n: 1 }, after: { n: 2 } },
        {
          ...of,
          atMs: 2_000,
          author: { ...AUTHOR, person: 'usr_1' },
          action: 'read',
          fromRevision: null,
          toRevision: null,
          before: null,
          after: null,
        },
        { ...of, atMs: 1_000, action: 'make', fromRevision: null, toRevision: 1, before: null, after: { n: 1 } },
      ])
    })

    it('redacts the bodies of a removed document, also twice and of many entries, and of no other document', async () => {
      const { registry } = await start()
      const name = 'Ada Lovelace'
      const entries = 1_200
      for (let n = 0; n < entries; n++) await registry.commit(AUTHOR, 'change', [write('a', n, { n, name })])
      await registry.commit(AUTHOR, 'remove', [write('a', entries, null)])
      await registry.commit(AUTHOR, 'make', [write('b', 0, { name })])
      const of = { kind: 'thing', id: 'a', tenant: 'acme' }
      const edit = (body: unknown) => ({ ...(body as object), name: 'x' })
      const before = await registry.history({ ...all, limit: 5_000 })
      await registry.redact(of, edit)
      await registry.redact(of, edit)

      const after = await registry.history({ ...all, limit: 5_000 })
      const named = (body: unknown) => (body === null ? null : { ...(body as object), name: 'x' })
      expect(after).toEqual(
        before.map((entry) =>
          entry.id === 'a' ? { ...entry, before: named(entry.before), after: named(entry.after) } : entry,
        ),
      )
    })

    it('does not redact a document that would write the text again', async () => {
      const { registry } = await start()
      await registry.commit(AUTHOR, 'make', [write('a', 0, { name: 'Ada' })])
      const redact = (name: string) => registry.redact({ kind: 'thing', id: 'a', tenant: 'acme' }, () => ({ name }))
      await expect(redact('x')).rejects.toThrow(RevisionConflict)
      await registry.commit(AUTHOR, 'change', [write('a', 1, { name: 'x' })])
      await redact('x')
      expect(JSON.stringify(await registry.history(all))).not.toContain('Ada')
    })

    it('returns bodies of the requested kinds only, and nothing of another tenant', async () => {
      const { registry } = await start()
      await registry.commit(AUTHOR, 'make', [write('a', 0, 1, { kind: 'secret' })])
      await registry.commit(AUTHOR, 'make', [write('b', 0, 1, { tenant: 'rival' })])

      const entries = await registry.history(all)
      expect(entries).toMatchObject([{ kind: 'secret', before: null, after: null }])
    })

    it('returns each entry once over pages of any size, and applies its filters', async () => {
      const { clock, registry } = await start()
      for (let number = 0; number < 30; number++) {
        clock.set(1_000 + Math.floor(number / 4) * 1_000)
        const by = { ...AUTHOR, consumer: `con_${number % 2}` }
        if (number % 3 === 0) await registry.audit(by, 'read', { kind: 'thing', id: 'x', tenant: 'acme' })
        else await registry.commit(by, 'make', [write(`d${number}`, 0, number)])
      }
      for (const limit of [1, 2, 7, 30]) {
        const seen: string[] = []
        let before: { change: number; note: number } | undefined
        for (;;) {
          const page = await registry.history({ ...all, limit, ...(before && { before }) })
          seen.push(...page.map(({ kind, id, action, position }) => `${kind} ${id} ${action} ${position.note}`))
          before = page.at(-1)?.position
          if (page.length < limit) break
        }
        expect(seen).toHaveLength(30)
        expect(new Set(seen).size).toBe(30)
      }
      expect(await registry.history({ ...all, consumer: 'con_1' })).toHaveLength(15)
      expect(await registry.history({ ...all, action: 'read' })).toHaveLength(10)
      expect(await registry.history({ ...all, kind: 'thing', id: 'd1' })).toHaveLength(1)
    })

    it('lists delivery attempts only if the filter asks for them', async () => {
      const { registry } = await start()
      await registry.commit(AUTHOR, 'webhook.test', [write('dlv_1', 0, 1, { kind: 'webhook_delivery' })])
      expect(await registry.history(all)).toEqual([])
      for (const asked of [{ kind: 'webhook_delivery' }, { id: 'dlv_1' }, { action: 'webhook.test' }])
        expect(await registry.history({ ...all, ...asked })).toMatchObject([{ id: 'dlv_1' }])
    })
  })
}
