# What makes a check longer than what it checks.

fault("the encoder of pictures that a smoke run makes has its family's inner width",
      "launcher/front/smoke_sample.cpp", "return small + inner + \",image_size=32,patch_size=8\";", "return small + \",image_size=32,patch_size=8\";",
      tests=["front: the model that a smoke run makes is small in each task"],
      says=r"image-classification")

fault("the model of pairs that a smoke run makes has its family's inner width",
      "launcher/front/smoke_sample.cpp", ",d_kv=16,d_ff=128,", ",d_kv=16,",
      tests=["front: the model that a smoke run makes is small in each task"],
      says=r"seq2seq")
