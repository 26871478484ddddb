import { mkdirSync, symlinkSync } from 'node:fs'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { INPUT_BYTES_MAX, readInput } from '../../../../../src/interfaces/cli/gate/read-input.ts'
import { openFolder } from './working-folder.ts'

const read = (name: string, stdin = ''): Promise<unknown> => readInput(name, Readable.from([Buffer.from(stdin)]))

describe('An input', () => {
  it('is a file, or standard input', async () => {
    openFolder({ 'a.yaml': 'a: 1' })
    expect(await read('a.yaml')).toEqual({ file: 'a.yaml', bytes: Buffer.from('a: 1') })
    expect(await read('-', 'b: 2')).toEqual({ file: 'stdin', bytes: Buffer.from('b: 2') })
  })

  it.each([
    ['none.yaml', 'none.yaml: there is no such file.'],
    ['a.yaml/x', 'a.yaml/x: there is no such file.'],
    ['folder', "folder is a folder; name a file, or a pattern such as 'folder/**/*.yaml'."],
    ['empty.yaml', 'empty.yaml is empty.'],
    ['blank.yaml', 'blank.yaml is empty.'],
    ['circle', 'circle: it is a link to itself.'],
    ['n'.repeat(300), `${'n'.repeat(300)}: the name is too long.`],
    ['-', 'stdin is empty.'],
    ['/dev/zero', `/dev/zero has more than ${INPUT_BYTES_MAX} bytes.`],
  ])('is refused with one sentence if it is %s', async (name, sentence) => {
    openFolder({ 'a.yaml': 'a', 'empty.yaml': '', 'blank.yaml': ' \n\t\r\n' })
    mkdirSync('folder')
    symlinkSync('circle', 'circle')
    await expect(read(name)).rejects.toThrow(sentence)
  })
})
