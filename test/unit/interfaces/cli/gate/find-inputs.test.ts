import { expect, it } from 'vitest'
import { findInputs } from '../../../../../src/interfaces/cli/gate/find-inputs.ts'
import { InputFault } from '../../../../../src/interfaces/cli/gate/input-fault.ts'
import { openFolder } from './working-folder.ts'

it('a pattern names files in order, without folders, node_modules and .git', () => {
  openFolder({
    'b.yaml': '',
    'apis/a.yaml': '',
    'apis/c.yaml/d.yaml': '',
    'node_modules/m.yaml': '',
    '.git/g.yaml': '',
  })
  expect(findInputs(['**/*.yaml'])).toEqual(['apis/a.yaml', 'apis/c.yaml/d.yaml', 'b.yaml'])
  expect(findInputs(['b.yaml', './b.yaml', '*.yaml', '-', 'apis/{a,x}.yaml'])).toEqual(['b.yaml', '-', 'apis/a.yaml'])
})

it('a name that exists is never read as a pattern, and a name in git neither', () => {
  openFolder({ 'a[1].yaml': '', 'a1.yaml': '' })
  expect(findInputs(['a[1].yaml', 'git:HEAD:a*.yaml'])).toEqual(['a[1].yaml', 'git:HEAD:a*.yaml'])
})

it('a pattern that matches nothing is a fault, beside the files of the others', () => {
  openFolder({ 'a.yaml': '' })
  const [file, fault] = findInputs(['x/*.yaml', '*.yaml'])
  expect(file).toBe('a.yaml')
  expect(fault).toBeInstanceOf(InputFault)
  expect((fault as InputFault).message).toBe('No file matches x/*.yaml.')
})

it('more than 1000 files are refused', () => {
  const files = Array.from({ length: 1_001 }, (_, index) => `${index}.yaml`)
  expect(findInputs(files)).toMatchObject([{ message: 'The arguments name 1001 files; the limit is 1000.' }])
})
