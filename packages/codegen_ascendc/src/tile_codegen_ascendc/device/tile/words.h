// Words of gm that cores signal each other by.
#ifndef TILE_WORDS_H
#define TILE_WORDS_H

namespace tile {

// The word as gm has it: its line is dropped from the cache of the scalar unit before.
__aicore__ inline int32_t fresh_word(AscendC::GlobalTensor<int32_t> word, Site site = Site::here())
{
    SiteScope scope(site);
    AscendC::DataCacheCleanAndInvalid<int32_t, AscendC::CacheLine::SINGLE_CACHE_LINE,
        AscendC::DcciDst::CACHELINE_OUT>(word);
    return word.GetValue(0);
}

}  // namespace tile

#endif
