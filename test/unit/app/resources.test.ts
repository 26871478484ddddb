import { expect, it } from 'vitest'
import '../../../src/app/resources.ts'
import { shownFields } from '../../../src/storage/store/registry.ts'

it('The audit log of the service shows the losses that only `recover` writes', () => {
  expect(shownFields().get('recovery')).toEqual(['part', 'loss'])
})
