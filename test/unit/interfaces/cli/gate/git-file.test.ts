// @module-tag git

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { isGitName, readFromGit } from '../../../../../src/interfaces/cli/gate/git-file.ts'
import { openFolder } from './working-folder.ts'

const BYTES_MAX = 1_000

function commit(files: Readonly<Record<string, string>>): void {
  openFolder(files)
  const author = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com']
  execFileSync('git', ['init', '-q', '-b', 'main'])
  execFileSync('git', ['add', '.'])
  execFileSync('git', [...author, 'commit', '-q', '-m', 'First'])
}

const read = async (name: string): Promise<string> => Buffer.from(await readFromGit(name, BYTES_MAX)).toString()

describe('A file in git', () => {
  it('is read as of a commit, by its path from the root or from the working folder', async () => {
    commit({ 'apis/a b.yaml': 'old' })
    expect(await read('git:main:apis/a b.yaml')).toBe('old')
    process.chdir('apis')
    expect(await read('git:HEAD:./a b.yaml')).toBe('old')
    expect(await read('git:HEAD:apis/a b.yaml')).toBe('old')
    expect([isGitName('git:HEAD:a'), isGitName('git'), isGitName('a/git:b')]).toEqual([true, false, false])
  })

  it.each([
    ['git:main', 'must have the form git:REF:PATH'],
    ['git::a.yaml', 'must have the form git:REF:PATH'],
    ['git:main:', 'must have the form git:REF:PATH'],
    ['git:--output=stolen:a.yaml', 'the name of a commit must not begin with -'],
    ['git:none:a.yaml', 'git answers "fatal: '],
    ['git:main:none.yaml', 'git answers "fatal: '],
    ['git:main:folder', 'is a folder; name a file'],
    ['git:$(touch stolen):a.yaml', 'git answers "fatal: '],
    ['git:main; touch stolen:a.yaml', 'git answers "fatal: '],
    ['git:main:large.yaml', 'it has more than 1000 bytes'],
  ])('named %s is refused with one sentence, and runs nothing', async (name, sentence) => {
    commit({ 'a.yaml': 'old', 'folder/b.yaml': 'b', 'large.yaml': 'x'.repeat(BYTES_MAX + 1) })
    await expect(read(name)).rejects.toThrow(sentence)
    expect(existsSync('stolen')).toBe(false)
  })

  it('is refused outside of a repository', async () => {
    openFolder({})
    mkdirSync('plain')
    await expect(read('git:HEAD:a.yaml')).rejects.toThrow('not a git repository')
  })
})
