import { createLocalClaims } from '../../../src/store/claims.ts'
import { claimsContract } from './claims.contract.ts'

claimsContract('one node', createLocalClaims)
