import { describe, expect, it } from 'vitest'
import { FORMAT, type NodeIdentity, type Nodes } from '../../../src/storage/store/nodes.ts'

export const NODE: NodeIdentity = {
  incarnation: 'i-1',
  name: 'one',
  version: '1.2.3',
  format: FORMAT,
  settings: { REQUEST_LOG: 'h1' },
}

/** The contract of every list of nodes, be it of one node or of several. */
export function nodesContract(name: string, open: () => Nodes | Promise<Nodes>): void {
  describe(`nodes: ${name}`, () => {
    it('lists a node from its registration until it leaves, with the position that it serves', async () => {
      const nodes = await open()
      expect(await nodes.list()).toEqual([])
      await nodes.register(NODE)
      expect(await nodes.list()).toMatchObject([{ ...NODE, position: 0, isLive: true }])
      nodes.serve(7)
      expect(await nodes.acknowledged(7)).toEqual([])
      expect(await nodes.list()).toMatchObject([{ ...NODE, position: 7, isLive: true }])
      await nodes.leave()
      expect(await nodes.list()).toEqual([])
    })

    it('does not remove a live node, and no node of another name', async () => {
      const nodes = await open()
      await nodes.register(NODE)
      expect(await nodes.remove('one')).toBe('live')
      expect(await nodes.remove('two')).toBe('absent')
      expect(await nodes.list()).toHaveLength(1)
      await nodes.leave()
      expect(await nodes.remove('one')).toBe('absent')
    })

    it('can register again after it has left, and leave without being registered', async () => {
      const nodes = await open()
      await nodes.leave()
      await nodes.register(NODE)
      await nodes.leave()
      await nodes.leave()
      await nodes.register(NODE)
      expect(await nodes.list()).toHaveLength(1)
      await nodes.leave()
    })
  })
}
