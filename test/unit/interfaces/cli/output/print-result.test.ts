import { describe, expect, it } from 'vitest'
import type { Io } from '../../../../../src/interfaces/cli/io.ts'
import { printResult, type OutputFormat } from '../../../../../src/interfaces/cli/output/print-result.ts'

const LIST = {
  items: [
    { id: 'con_1', name: 'shop', labels: { team: 'a' }, count: 3 },
    { id: 'con_2', name: '=cmd()', labels: {}, count: 12 },
  ],
  next: null,
}

async function print(result: unknown, format: OutputFormat, columns = Infinity, colour = false, none?: string) {
  let out = ''
  let err = ''
  const io = {
    env: {},
    out: { write: (text: string) => void (out += text), isTerminal: colour, columns, colour },
    err: { write: (text: string) => void (err += text), isTerminal: false, columns, colour: false },
  } as unknown as Io
  await printResult(result, format, io, { columns: ['id', 'name', 'count'], none })
  return { out, err }
}

describe('printResult', () => {
  it('prints a table with the given columns and numbers aligned at their ends', async () => {
    expect((await print(LIST, 'table')).out).toBe('ID     NAME    COUNT\ncon_1  shop        3\ncon_2  =cmd()     12\n')
  })

  it('prints JSON and YAML with the fields of the API', async () => {
    expect(JSON.parse((await print(LIST, 'json')).out)).toEqual(LIST)
    expect((await print(LIST.items[0], 'yaml')).out).toBe('id: con_1\nname: shop\nlabels:\n  team: a\ncount: 3\n')
  })

  it('prints CSV that is safe to open in a spreadsheet', async () => {
    expect((await print(LIST, 'csv')).out).toBe(
      `id,name,labels,count\r\ncon_1,shop,"{""team"":""a""}",3\r\ncon_2,'=cmd(),{},12\r\n`,
    )
  })

  it('says what a table without rows lacks', async () => {
    expect(await print({ items: [] }, 'table')).toEqual({ out: '', err: 'No items.\n' })
    expect(await print({ items: [] }, 'table', Infinity, false, 'No orders.')).toEqual({ out: '', err: 'No orders.\n' })
  })

  it('prints ids alone with the format name', async () => {
    expect((await print(LIST, 'name')).out).toBe('con_1\ncon_2\n')
  })

  it('prints the argument of the command for a result without a name', async () => {
    const decision = { approver: 'usr_1', outcome: 'Approved' }
    let printed = ''
    const io = { out: { write: (text: string) => void (printed += text) } } as unknown as Io
    await printResult(decision, 'name', io, { id: 'apf_1' })
    expect(printed).toBe('apf_1\n')
    await expect(printResult(decision, 'name', io)).rejects.toThrow('no id and no name')
  })

  it('shortens the widest column to the width of the terminal, also with wide characters', async () => {
    const items = [{ id: 'con_1', name: '漢字'.repeat(20), count: 1 }]
    const { out } = await print({ items }, 'table', 30)
    expect(out.split('\n')[1]).toBe(`con_1  ${'漢字'.repeat(3)}漢…       1`)
  })

  it('sends no control characters to the terminal, in any format for people', async () => {
    const name = 'a\u001b[2Jb\u009b\u202ec'
    expect((await print({ items: [{ id: 'con_1', name, count: 1 }] }, 'table')).out).toContain('a?[2Jb??c')
    expect((await print({ id: name }, 'name')).out).toBe('a?[2Jb??c\n')
    const json = (await print({ name }, 'json')).out
    expect([json.includes('\u009b'), JSON.parse(json)]).toEqual([false, { name }])
  })

  it('colours states on a terminal, and changes nothing else', async () => {
    const items = [{ id: 'con_1', state: 'Active' }]
    const io = { columns: 80 }
    const { out } = await print({ items }, 'table', io.columns, true)
    const plain = (await print({ items }, 'table', io.columns)).out
    expect(out).toContain('\u001b[')
    expect(out.replace(/\u001b\[\d+m/g, '')).toBe(plain)
  })

  it('says on stderr that a list is empty', async () => {
    expect(await print({ items: [] }, 'table')).toEqual({ out: '', err: 'No items.\n' })
  })
})
