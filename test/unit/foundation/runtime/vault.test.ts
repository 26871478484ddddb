import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { createKeyedHash, createVault, loadMasterKey } from '../../../../src/foundation/runtime/vault.ts'

const folders: string[] = []
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true })))

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'tollgate-vault-'))
  folders.push(path)
  return path
}

describe('the master key', () => {
  it('is created on first start, readable by its owner only, and reused', () => {
    const dataDir = folder()
    const key = loadMasterKey({ dataDir, masterKey: null })

    expect(key).toHaveLength(32)
    expect(statSync(join(dataDir, 'master.key')).mode & 0o777).toBe(0o600)
    expect(loadMasterKey({ dataDir, masterKey: null })).toEqual(key)
  })

  it('is taken from the setting if it is set, without a file', () => {
    const dataDir = folder()
    const key = Buffer.alloc(32, 5)

    for (const text of [key.toString('hex'), key.toString('base64url')])
      expect(loadMasterKey({ dataDir, masterKey: text })).toEqual(key)
    expect(() => readFileSync(join(dataDir, 'master.key'))).toThrow('ENOENT')
  })

  it('is refused with the expected format if it is malformed, without showing it', () => {
    const dataDir = folder()
    expect(() => loadMasterKey({ dataDir, masterKey: 'hunter2' })).toThrow(/^MASTER_KEY takes 32 bytes/)
    expect(() => loadMasterKey({ dataDir, masterKey: 'hunter2' })).not.toThrow('hunter2')

    writeFileSync(join(dataDir, 'master.key'), '')
    expect(() => loadMasterKey({ dataDir, masterKey: null })).toThrow(/master\.key takes 32 bytes/)
  })
})

describe('the vault', () => {
  const vault = createVault(Buffer.alloc(32, 1))

  it('decrypts what it encrypted, and never returns the same ciphertext twice', () => {
    const [one, other] = [vault.encrypt('geheim ✓', 'crd_1'), vault.encrypt('geheim ✓', 'crd_1')]

    expect([vault.decrypt(one, 'crd_1'), vault.decrypt(other, 'crd_1')]).toEqual(['geheim ✓', 'geheim ✓'])
    expect(one).not.toBe(other)
    expect(vault.decrypt(vault.encrypt('', 'crd_1'), 'crd_1')).toBe('')
  })

  it('does not decrypt in another context, with another key, or if the ciphertext was changed or truncated', () => {
    const encrypted = vault.encrypt('secret', 'crd_1')
    const flipped = Buffer.from(encrypted, 'base64url').map((byte, index) => (index === 14 ? byte ^ 1 : byte))

    expect(() => vault.decrypt(encrypted, 'crd_2')).toThrow()
    expect(() => createVault(Buffer.alloc(32, 2)).decrypt(encrypted, 'crd_1')).toThrow()
    expect(() => vault.decrypt(Buffer.from(flipped).toString('base64url'), 'crd_1')).toThrow()
    for (const length of [0, 10, 30, encrypted.length - 4])
      expect(() => vault.decrypt(encrypted.slice(0, length), 'crd_1')).toThrow()
  })

  it('hashes with a separate key, which other threads can use', () => {
    expect(vault.keyedHash('a')).toMatch(/^[0-9a-f]{64}$/)
    expect(vault.keyedHash('a')).not.toBe(vault.keyedHash('b'))
    expect(createKeyedHash(vault.hashKey)('a')).toBe(vault.keyedHash('a'))
    expect(createVault(Buffer.alloc(32, 2)).keyedHash('a')).not.toBe(vault.keyedHash('a'))
    expect(vault.hashKey).not.toBe(Buffer.alloc(32, 1).toString('hex'))
  })
})
